package world

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
	w       *World
	number  int
	clocks  *clocks.Pair
	boots   int
	machine string   // its hardware identity; empty: it has none
	paused  int      // how many reasons there are why nothing runs
	later   []func() // what is due since
}

// do has something happen on the host: now, or when the host runs again.
func (h *host) do(f func()) {
	if h.paused > 0 {
		h.later = append(h.later, f)
		return
	}
	f()
}

func (h *host) read() clockguard.Reading { return h.clocks.Read(h.w.line.Now()) }

// pause stops the host for a while.
func (h *host) pause(d time.Duration, begin, end func(scheduler.Time)) {
	h.paused++
	begin(h.w.line.Now())
	h.w.line.At(h.w.line.Now()+scheduler.Time(d), func() {
		h.paused--
		end(h.w.line.Now())
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

// waiter is a flow of a process, when it waits.
type waiter struct {
	p     *proc
	flow  *scheduler.Flow
	n     uint64 // how often it has waited: of this wait
	bell  <-chan struct{}
	timer *scheduler.Event
	due   func() // what the timer does, made once
}

// waiterOf is the waiter of a flow.
func (p *proc) waiterOf(fl *scheduler.Flow) *waiter {
	for _, w := range p.waiters {
		if w.flow == fl {
			return w
		}
	}
	w := &waiter{p: p, flow: fl}
	w.due = func() { p.wakeAt(w, w.n) }
	p.waiters = append(p.waiters, w)
	return w
}

// wait parks the running flow until done, which is looked at whenever the flow is woken, or until
// the host's monotonic clock has reached a point. A stroke of bell wakes it.
func (p *proc) wait(until clockguard.Mono, bell <-chan struct{}, done func() bool) {
	if p.dead {
		scheduler.Unwind()
	}
	fl := p.w.line.Running()
	for !done() {
		left := until - p.host.read().Mono
		if left <= 0 {
			return
		}
		w := p.waiterOf(fl)
		w.n++
		w.bell, w.timer = bell, nil
		if until != never {
			w.timer = p.after(left, w.due)
		}
		p.parked = append(p.parked, w)
		fl.Park()
	}
}

// after has f, which looks whether the process has ended, happen when the monotonic clock has moved
// on by d.
func (p *proc) after(d clockguard.Mono, f func()) *scheduler.Event {
	return p.w.line.At(p.w.line.Now()+p.host.clocks.Until(d), f)
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

// wakeAt resumes a flow from the nth time that it waited, if it still does. It is called from
// events only.
func (p *proc) wakeAt(w *waiter, n uint64) {
	switch {
	case p.host.paused > 0:
		p.host.do(func() { p.wakeAt(w, n) })
	case w.n == n:
		p.wake(w)
	}
}

// wake resumes a flow that is parked. It is called from events only.
func (p *proc) wake(w *waiter) {
	at := slices.Index(p.parked, w)
	if at < 0 || p.dead {
		return
	}
	p.parked = slices.Delete(p.parked, at, at+1)
	w.timer.Drop()
	w.flow.Resume()
	p.settle()
}

// soon wakes a parked flow after what is happening.
func (p *proc) soon(w *waiter) {
	n := w.n
	p.w.line.At(p.w.line.Now(), func() { p.wakeAt(w, n) })
}

// settle does what the process has just made due: bells that were rung, requests that can be tried
// again.
func (p *proc) settle() {
	for _, w := range p.parked {
		if len(w.bell) > 0 {
			p.soon(w)
		}
	}
	if p.changed {
		p.changed = false
		p.w.line.At(p.w.line.Now(), p.retrying)
	}
}

// Now implements clockguard.Clock.
func (p *proc) Now() clockguard.Reading { return p.host.read() }

// Sleep implements clockguard.Clock.
func (p *proc) Sleep(ctx context.Context, d time.Duration) error {
	p.Pause(ctx, d, nil)
	return ctx.Err()
}

// Pause implements clockguard.Waiter.
func (p *proc) Pause(ctx context.Context, d time.Duration, bell <-chan struct{}) {
	p.wait(p.host.read().Mono+clockguard.Mono(d), bell, func() bool { return ctx.Err() != nil || rung(bell) })
}

// Await implements clockguard.Waiter.
func (p *proc) Await(bell <-chan struct{}) {
	p.wait(never, bell, func() bool { return rung(bell) })
}

func rung(bell <-chan struct{}) bool {
	select {
	case <-bell:
		return true
	default:
		return false
	}
}

// WithTimeout implements clockguard.Waiter.
func (p *proc) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	c := &life{parent: ctx, p: p, until: p.host.read().Mono + clockguard.Mono(d)}
	return c, func() { c.over = true }
}

// life is a context whose deadline is the host's. Nobody waits for its Done: flows look at Err when
// they are woken.
type life struct {
	parent context.Context
	p      *proc
	until  clockguard.Mono
	over   bool
}

func (c *life) Deadline() (time.Time, bool) { return time.Time{}, false }
func (c *life) Done() <-chan struct{}       { return nil }
func (c *life) Value(any) any               { return nil }

func (c *life) Err() error {
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
	c, ok := ctx.(*life)
	if !ok {
		return never
	}
	return min(c.until, limit(c.parent))
}
