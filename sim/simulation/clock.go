package simulation

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/sim/clocks"
	"github.com/flakeward/flakeward/sim/scheduler"
)

// host is a machine: its clocks, and whether anything runs on it.
type host struct {
	sim       *Simulation
	number    int
	clocks    *clocks.Pair
	synced    bool // its kernel calls the clock synchronised, right or wrong
	boots     int
	disturbed scheduler.Time // until then faults of its clocks have effects
	paused    int            // how many reasons there are why nothing runs
	later     []func()       // what is due since
}

// do has something happen on the host: now, or when the host runs again.
func (h *host) do(f func()) {
	if h.paused > 0 {
		h.later = append(h.later, f)
		return
	}
	f()
}

func (h *host) read() clockguard.Reading { return h.clocks.Read(h.sim.scheduler.Now()) }

// ahead is how far the wall clock is off, ahead of the true time.
func (h *host) ahead() time.Duration {
	return time.Duration(h.read().Wall - begin.UnixNano() - int64(h.sim.scheduler.Now()))
}

// pause stops the host for a while.
func (h *host) pause(d time.Duration, begin, end func(scheduler.Time)) {
	h.paused++
	begin(h.sim.scheduler.Now())
	h.sim.scheduler.At(h.sim.scheduler.Now()+scheduler.Time(d), func() {
		h.paused--
		end(h.sim.scheduler.Now())
		if h.paused > 0 {
			return
		}
		due := h.later
		h.later = nil
		for _, f := range due {
			h.do(f)
		}
	})
}

// never is later than anything.
const never = clockguard.Mono(math.MaxInt64)

// waiter is a coroutine of a process that waits.
type waiter struct {
	p         *proc
	coroutine *scheduler.Coroutine
	n         uint64 // how often it has waited: of this wait
	signal    <-chan struct{}
	timer     *scheduler.Event
	due       func() // what the timer does, made once
}

// waiterOf is the waiter of a coroutine.
func (p *proc) waiterOf(fl *scheduler.Coroutine) *waiter {
	for _, wt := range p.waiters {
		if wt.coroutine == fl {
			return wt
		}
	}
	wt := &waiter{p: p, coroutine: fl}
	wt.due = func() { p.wakeAt(wt, wt.n) }
	p.waiters = append(p.waiters, wt)
	return wt
}

// wait has the running coroutine yield until done reports true or the host's monotonic clock has
// reached until. done is called whenever the coroutine is woken. The signal wakes it.
func (p *proc) wait(until clockguard.Mono, signal <-chan struct{}, done func() bool) {
	if p.dead {
		scheduler.Unwind()
	}
	fl := p.sim.scheduler.Running()
	for !done() {
		left := until - p.host.read().Mono
		if left <= 0 {
			return
		}
		wt := p.waiterOf(fl)
		wt.n++
		wt.signal, wt.timer = signal, nil
		if until != never {
			wt.timer = p.after(left, wt.due)
		}
		p.waiting = append(p.waiting, wt)
		fl.Yield()
	}
}

// after has f, which looks whether the process has ended, happen when the monotonic clock has moved
// on by d.
func (p *proc) after(d clockguard.Mono, f func()) *scheduler.Event {
	return p.sim.scheduler.At(p.sim.scheduler.Now()+p.host.clocks.Until(d), f)
}

// do has f happen in the process, unless that has ended.
func (p *proc) do(f func()) {
	if p.host.paused > 0 {
		p.host.do(func() { p.do(f) })
		return
	}
	if !p.dead {
		f()
	}
}

// wakeAt resumes a coroutine from the nth time that it waited, if it still does. It is called from
// events only.
func (p *proc) wakeAt(wt *waiter, n uint64) {
	switch {
	case p.host.paused > 0:
		p.host.do(func() { p.wakeAt(wt, n) })
	case wt.n == n:
		p.wake(wt)
	}
}

// wake resumes a coroutine that is waiting. It is called from events only.
func (p *proc) wake(wt *waiter) {
	at := slices.Index(p.waiting, wt)
	if at < 0 || p.dead {
		return
	}
	p.waiting = slices.Delete(p.waiting, at, at+1)
	wt.timer.Cancel()
	wt.coroutine.Resume()
	p.finish()
}

// soon wakes a waiting coroutine after what is happening.
func (p *proc) soon(wt *waiter) {
	n := wt.n
	p.sim.scheduler.At(p.sim.scheduler.Now(), func() { p.wakeAt(wt, n) })
}

// finish schedules what the process has just made due: coroutines whose signal was sent, and
// requests that can be tried again.
func (p *proc) finish() {
	for _, wt := range p.waiting {
		if len(wt.signal) > 0 {
			p.soon(wt)
		}
	}
	if p.changed {
		p.changed = false
		p.sim.scheduler.At(p.sim.scheduler.Now(), p.retrying)
	}
}

// Now implements clockguard.Clock.
func (p *proc) Now() clockguard.Reading { return p.host.read() }

// Boot implements clockguard.Kernel, as do the next two.
func (p *proc) Boot() int64 { return int64(time.Hour) + p.host.clocks.Boot(p.sim.scheduler.Now()) }

// BootID is of the boot in which the process began.
func (p *proc) BootID() string { return p.boot }

// Synchronised is the kernel's word.
func (p *proc) Synchronised() (time.Duration, bool) { return time.Millisecond, p.host.synced }

// Sleep implements clockguard.Clock.
func (p *proc) Sleep(ctx context.Context, d time.Duration) error {
	p.Pause(ctx, d, nil)
	return ctx.Err()
}

// Pause implements clockguard.Waiter.
func (p *proc) Pause(ctx context.Context, d time.Duration, signal <-chan struct{}) {
	p.wait(p.host.read().Mono+clockguard.Mono(d), signal, func() bool { return ctx.Err() != nil || signalled(signal) })
}

// Await implements clockguard.Waiter.
func (p *proc) Await(signal <-chan struct{}) {
	p.wait(never, signal, func() bool { return signalled(signal) })
}

func signalled(signal <-chan struct{}) bool {
	select {
	case <-signal:
		return true
	default:
		return false
	}
}

// WithTimeout implements clockguard.Waiter.
func (p *proc) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	c := &hostContext{parent: ctx, p: p, until: p.host.read().Mono + clockguard.Mono(d)}
	return c, func() { c.over = true }
}

// hostContext is a context whose deadline is by the host's clock. Nobody waits for its Done:
// coroutines look at Err when they are woken.
type hostContext struct {
	parent context.Context
	p      *proc
	until  clockguard.Mono
	over   bool
}

func (c *hostContext) Deadline() (time.Time, bool) { return time.Time{}, false }
func (c *hostContext) Done() <-chan struct{}       { return nil }
func (c *hostContext) Value(any) any               { return nil }

func (c *hostContext) Err() error {
	switch {
	case c.over:
		return context.Canceled
	case c.parent.Err() != nil:
		return c.parent.Err()
	case c.p.host.read().Mono >= c.until:
		return context.DeadlineExceeded
	}
	return nil
}

// limit is when the context ends at the latest.
func limit(ctx context.Context) clockguard.Mono {
	c, ok := ctx.(*hostContext)
	if !ok {
		return never
	}
	return min(c.until, limit(c.parent))
}
