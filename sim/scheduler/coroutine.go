package scheduler

import "iter"

// Coroutine is a function that runs piece by piece.
type Coroutine struct {
	scheduler *Scheduler
	f         func()
	thread    *thread // what it runs on; nil: it has not run yet, or is over
	dead      bool
	done      bool
}

// thread is what coroutines run on, one after the other. Most of them are short, and to make a
// thread and let its stack grow costs more than they do.
type thread struct {
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
	f     func() // of the coroutine; nil: none runs on it
}

// ended unwinds a coroutine that was ended.
type ended struct{}

// Coroutine makes a coroutine of f, which runs from the first Resume on.
func (s *Scheduler) Coroutine(f func()) *Coroutine { return &Coroutine{scheduler: s, f: f} }

// thread returns one that no coroutine runs on.
func (s *Scheduler) thread() *thread {
	if last := len(s.idle) - 1; last >= 0 {
		t := s.idle[last]
		s.idle = s.idle[:last]
		return t
	}
	t := &thread{}
	t.next, t.stop = iter.Pull(func(yield func(struct{}) bool) {
		t.yield = yield
		for {
			t.work()
			t.f = nil
			if !yield(struct{}{}) {
				return
			}
		}
	})
	return t
}

func (t *thread) work() {
	defer func() {
		if r := recover(); r != nil && r != (ended{}) {
			panic(r)
		}
	}()
	t.f()
}

// Close ends the threads that no coroutine runs on. The scheduler may be used again after it.
func (s *Scheduler) Close() {
	for _, t := range s.idle {
		t.stop()
	}
	s.idle = nil
}

// Running is the coroutine that runs now; nil if an event does.
func (s *Scheduler) Running() *Coroutine { return s.running }

// Resume runs the coroutine until it yields or ends. It is called from events only, never from
// within a coroutine.
func (c *Coroutine) Resume() {
	if c.done || c.dead {
		return
	}
	if c.thread == nil {
		c.thread = c.scheduler.thread()
		c.thread.f = c.f
	}
	c.scheduler.running = c
	c.run()
	c.scheduler.running = nil
	c.done = c.thread == nil
}

// run runs the coroutine's thread until it yields, and leaves it to others once the function is
// over.
func (c *Coroutine) run() {
	t := c.thread
	if _, more := t.next(); !more { // after a panic
		c.thread = nil
	} else if t.f == nil {
		c.thread = nil
		c.scheduler.idle = append(c.scheduler.idle, t)
	}
}

// Yield stops the running coroutine until it is resumed. If it is ended instead, Yield does not
// return: what was deferred in the coroutine runs, and the coroutine is over.
func (c *Coroutine) Yield() {
	if !c.dead {
		c.thread.yield(struct{}{})
	}
	if c.dead {
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
	if c.thread != nil {
		c.run()
	}
}
