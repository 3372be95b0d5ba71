// Package scheduler runs a simulation in one thread: events in the order of their time, and flows,
// which are functions that stop in their midst until an event resumes them. Nothing else decides
// what runs when, so the same events give the same run.
package scheduler

import "iter"

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
	slab    []Event // where events are made: many, and small
}

// Event is what happens at a time, unless it is dropped before.
type Event struct{ do func() }

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
	if len(l.slab) == 0 {
		l.slab = make([]Event, 256)
	}
	e := &l.slab[0]
	l.slab = l.slab[1:]
	e.do = do
	l.queue.push(due{at: max(t, l.now), n: l.made, event: e})
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
		next := l.queue.pop()
		do := next.event.do
		if do == nil {
			continue
		}
		next.event.do = nil // its room is kept with that of others, what it holds is not
		l.now = next.at
		l.sum = (l.sum^uint64(next.at))*1099511628211 + next.n // FNV's prime
		do()
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

// Resume runs the flow until it parks or ends. It is called from events only, never from within a
// flow.
func (f *Flow) Resume() {
	if f.done || f.dead {
		return
	}
	f.line.running = f
	_, more := f.next()
	f.line.running = nil
	f.done = !more
}

// Park stops the running flow until it is resumed. If it is ended instead, Park does not return:
// what was deferred in the flow runs, and the flow is over.
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

// due is when an event happens.
type due struct {
	at    Time
	n     uint64 // events of one time happen in the order in which they were made
	event *Event
}

func (d due) before(e due) bool { return d.at < e.at || d.at == e.at && d.n < e.n }

// queue is a heap: none comes before the one at half its place.
type queue []due

func (q *queue) push(d due) {
	*q = append(*q, d)
	all := *q
	at := len(all) - 1
	for at > 0 {
		above := (at - 1) / 2
		if !d.before(all[above]) {
			break
		}
		all[at] = all[above]
		at = above
	}
	all[at] = d
}

func (q *queue) pop() due {
	all := *q
	first, last := all[0], all[len(all)-1]
	all[len(all)-1] = due{}
	all = all[:len(all)-1]
	*q = all
	at := 0
	for below := 1; below < len(all); below = 2*at + 1 {
		if below+1 < len(all) && all[below+1].before(all[below]) {
			below++
		}
		if !all[below].before(last) {
			break
		}
		all[at] = all[below]
		at = below
	}
	if len(all) > 0 {
		all[at] = last
	}
	return first
}
