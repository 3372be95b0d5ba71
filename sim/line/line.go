// Package line runs a simulation in one thread: events in the order of their time, and flows, which are
// functions that stop in their midst until an event resumes them. Nothing else decides what runs when, so
// the same events give the same run.
package line

import (
	"container/heap"
	"iter"
)

// Time is the true time, in nanoseconds since the simulation began. No clock of a host shows it.
type Time int64

// Line is the queue of all events. The zero value is an empty one at time 0.
type Line struct {
	now     Time
	made    uint64
	sum     uint64
	ended   bool
	queue   queue
	running *Flow
}

// Event is what happens at a time, unless it is dropped before.
type Event struct {
	at Time
	n  uint64 // events of one time happen in the order in which they were made
	do func()
}

// Drop makes the event not happen. It may be nil, or have happened.
func (e *Event) Drop() {
	if e != nil {
		e.do = nil
	}
}

// Now is the true time.
func (l *Line) Now() Time { return l.now }

// At has do happen at a time, or at once after what is happening if that is past.
func (l *Line) At(t Time, do func()) *Event {
	l.made++
	e := &Event{at: max(t, l.now), n: l.made, do: do}
	heap.Push(&l.queue, e)
	return e
}

// Events is how many events were made so far.
func (l *Line) Events() uint64 { return l.made }

// Sum is a checksum of when everything happened so far, and in which order.
func (l *Line) Sum() uint64 { return l.sum }

// Stop ends Run after what is happening.
func (l *Line) Stop() { l.ended = true }

// Run lets everything happen up to a time, and stands there then.
func (l *Line) Run(until Time) {
	for !l.ended && len(l.queue) > 0 && l.queue[0].at <= until {
		e := heap.Pop(&l.queue).(*Event)
		if e.do == nil {
			continue
		}
		l.now = e.at
		l.sum = (l.sum^uint64(e.at))*1099511628211 + e.n // FNV's prime
		e.do()
	}
	if !l.ended {
		l.now = until
	}
}

// Flow is a function that runs piece by piece.
type Flow struct {
	line  *Line
	next  func() (struct{}, bool)
	end   func()
	yield func(struct{}) bool
	dead  bool
	done  bool
}

// ended unwinds a flow that was ended.
type ended struct{}

// Flow makes a flow of f, which runs from the first Resume on.
func (l *Line) Flow(f func()) *Flow {
	fl := &Flow{line: l}
	fl.next, fl.end = iter.Pull(func(yield func(struct{}) bool) {
		fl.yield = yield
		defer func() {
			if r := recover(); r != nil && r != (ended{}) {
				panic(r)
			}
		}()
		f()
	})
	return fl
}

// Running is the flow that runs now; nil if an event does.
func (l *Line) Running() *Flow { return l.running }

// Resume runs the flow until it parks or ends. It is called from events only, never from within a flow.
func (f *Flow) Resume() {
	if f.done || f.dead {
		return
	}
	f.line.running = f
	_, more := f.next()
	f.line.running = nil
	f.done = !more
}

// Park stops the running flow until it is resumed. If it is ended instead, Park does not return: what was
// deferred in the flow runs, and the flow is over.
func (f *Flow) Park() {
	if f.dead || !f.yield(struct{}{}) {
		f.dead = true
		panic(ended{})
	}
}

// Unwind is for what is deferred in a flow that was ended and would wait again: it does not return.
func Unwind() { panic(ended{}) }

// Done reports whether the flow is over, one way or the other.
func (f *Flow) Done() bool { return f.done || f.dead }

// End makes the flow stop where it is parked. It is called from events only.
func (f *Flow) End() {
	if f.Done() {
		return
	}
	f.dead = true
	f.end()
}

// queue is a heap of events by time, and by their making.
type queue []*Event

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	if q[i].at != q[j].at {
		return q[i].at < q[j].at
	}
	return q[i].n < q[j].n
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(*Event)) }
func (q *queue) Pop() any {
	old := *q
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	return e
}
