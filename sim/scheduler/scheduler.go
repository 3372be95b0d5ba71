// Package scheduler runs a simulation in one thread. It runs events in the order of their time, and
// coroutines, which yield until an event resumes them. Nothing else decides what runs when, so the
// same events give the same run.
package scheduler

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
	slab    []Event   // where events are made: many, and small
	idle    []*thread // that no coroutine runs on
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
