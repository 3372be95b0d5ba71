// Package scheduler runs a simulation in one thread. It runs events in the order of their time, and
// coroutines, which yield until an event resumes them. Nothing else decides what runs when, so the
// same events give the same run.
package scheduler

import "iter"

// Time is the true time, in nanoseconds since the simulation began. No clock of a host shows it.
type Time int64

// Scheduler is the queue of all events. The zero value is an empty one at time 0.
type Scheduler struct {
	now     Time
	made    uint64
	sum     uint64
	ended   bool
	queue   queue
	running *Coroutine
	slab    []Event // where events are made: many, and small
}

// Event is what happens at a time, unless it is cancelled before.
type Event struct{ do func() }

// Cancel prevents the event. The event may be nil, or have happened.
func (e *Event) Cancel() {
	if e != nil {
		e.do = nil
	}
}

// Now is the true time.
func (s *Scheduler) Now() Time { return s.now }

// At has do happen at a time, or at once after what is happening if that is past.
func (s *Scheduler) At(t Time, do func()) *Event {
	s.made++
	if len(s.slab) == 0 {
		s.slab = make([]Event, 256)
	}
	e := &s.slab[0]
	s.slab = s.slab[1:]
	e.do = do
	s.queue.push(due{at: max(t, s.now), n: s.made, event: e})
	return e
}

// Events is how many events were made so far.
func (s *Scheduler) Events() uint64 { return s.made }

// Sum is a checksum of when everything happened so far, and in which order.
func (s *Scheduler) Sum() uint64 { return s.sum }

// Stop ends Run after what is happening.
func (s *Scheduler) Stop() { s.ended = true }

// Run lets everything happen up to a time, and stands there then.
func (s *Scheduler) Run(until Time) {
	for !s.ended && len(s.queue) > 0 && s.queue[0].at <= until {
		next := s.queue.pop()
		do := next.event.do
		if do == nil {
			continue
		}
		next.event.do = nil // its room is kept with that of others, what it holds is not
		s.now = next.at
		s.sum = (s.sum^uint64(next.at))*1099511628211 + next.n // FNV's prime
		do()
	}
	if !s.ended {
		s.now = until
	}
}

// Coroutine is a function that runs piece by piece.
type Coroutine struct {
	scheduler *Scheduler
	next      func() (struct{}, bool)
	end       func()
	yield     func(struct{}) bool
	dead      bool
	done      bool
}

// ended unwinds a coroutine that was ended.
type ended struct{}

// Coroutine makes a coroutine of f, which runs from the first Resume on.
func (s *Scheduler) Coroutine(f func()) *Coroutine {
	c := &Coroutine{scheduler: s}
	c.next, c.end = iter.Pull(func(yield func(struct{}) bool) {
		c.yield = yield
		defer func() {
			if r := recover(); r != nil && r != (ended{}) {
				panic(r)
			}
		}()
		f()
	})
	return c
}

// Running is the coroutine that runs now; nil if an event does.
func (s *Scheduler) Running() *Coroutine { return s.running }

// Resume runs the coroutine until it yields or ends. It is called from events only, never from
// within a coroutine.
func (c *Coroutine) Resume() {
	if c.done || c.dead {
		return
	}
	c.scheduler.running = c
	_, more := c.next()
	c.scheduler.running = nil
	c.done = !more
}

// Yield stops the running coroutine until it is resumed. If it is ended instead, Yield does not
// return: what was deferred in the coroutine runs, and the coroutine is over.
func (c *Coroutine) Yield() {
	if c.dead || !c.yield(struct{}{}) {
		c.dead = true
		panic(ended{})
	}
}

// Unwind is for what is deferred in a coroutine that was ended and would wait again: it does not
// return.
func Unwind() { panic(ended{}) }

// Done reports whether the coroutine is over, one way or the other.
func (c *Coroutine) Done() bool { return c.done || c.dead }

// End makes the coroutine stop where it is suspended. It is called from events only.
func (c *Coroutine) End() {
	if c.Done() {
		return
	}
	c.dead = true
	c.end()
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
