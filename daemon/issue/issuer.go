// Package issue answers one request: it takes numbers from the lane in use. If the lane cannot give
// any, it asks the clock guard what to do and tells the caller how long to wait. It never waits
// itself.
package issue

import (
	"sync/atomic"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/generator"
)

// Owner holds the worker ID of a lane. Requests that the lane cannot serve turn to it. Its methods
// never block.
type Owner interface {
	// ReLease asks for another worker ID in the place of the lane's. Asking again is harmless.
	ReLease(lane *generator.Lane)
	// ExtendNow says that requests wait because the lane has reached its ceiling, or because the
	// machine was cloned.
	ExtendNow()
	// CanAcquire reports whether another worker ID is to be had: not while the coordinator does not
	// answer or has none free.
	CanAcquire() bool
	// Condition says what keeps the lane's ceiling from rising, or the lane from being there; nil
	// if nothing is known.
	Condition() error
}

// Limits bound what a request may have to wait for.
type Limits struct {
	Guard clockguard.Limits
	// RestartWait is how long a lane that has not issued yet may wait for the clock to pass its
	// floor before another worker ID is asked for.
	RestartWait time.Duration
	// MaxBlock is how long a request waits before it is refused.
	MaxBlock time.Duration
	// Burst is how far back a request may draw on unused numbers, if the clock's tick has not
	// enough of them. It counts up to what the lane remembers. 0: not at all.
	Burst time.Duration
}

// Issuer hands out the numbers of the lane in use. A connection's IDs rise over a change of worker
// ID: it gets nothing at or below the tick of its highest ID. If the clock still shows that tick,
// the connection waits for the next. After a rollback of the clock by more than MaxSleep, order
// with what it got before is lost; what it gets from then on rises. Its methods may be called from
// any goroutine.
type Issuer struct {
	layout   *generator.Layout
	clock    clockguard.Clock
	limits   Limits
	burst    generator.Tick // limits.Burst
	maxSleep generator.Tick // limits.Guard.MaxSleep, at least 1
	owner    Owner
	line     line

	lane    atomic.Pointer[generator.Lane]
	changed atomic.Pointer[func()]
	answers [clockguard.Wait + 1]atomic.Uint64
	waits   [waits]atomic.Uint64

	// unordered is the lane's highest tick when numbers of an earlier tick were issued last, after
	// the clock went back. Order is lost until the highest tick rises.
	unordered atomic.Int64
}

// New makes an issuer without a lane: requests wait until Use gives it one.
func New(layout *generator.Layout, clock clockguard.Clock, limits Limits, owner Owner) *Issuer {
	return &Issuer{
		layout: layout, clock: clock, limits: limits, owner: owner, line: newLine(layout, limits.MaxBlock),
		burst:    generator.Tick(limits.Burst / layout.TickLength()),
		maxSleep: max(1, generator.Tick(limits.Guard.MaxSleep/layout.TickLength())),
	}
}

// Layout is the layout of the IDs that are handed out.
func (i *Issuer) Layout() *generator.Layout { return i.layout }

// Use makes lane the one that numbers are taken from, or none if lane is nil.
func (i *Issuer) Use(lane *generator.Lane) {
	i.lane.Store(lane)
	i.Changed()
}

// Lane is the lane in use, nil if there is none.
func (i *Issuer) Lane() *generator.Lane { return i.lane.Load() }

// OnChange sets what is called when waiting requests should be tried again. f is called from any
// goroutine and must not block.
func (i *Issuer) OnChange(f func()) { i.changed.Store(&f) }

// Changed says that waiting requests should be tried again: a ceiling rose, or a lane came or went.
func (i *Issuer) Changed() {
	if f := i.changed.Load(); f != nil {
		(*f)()
	}
}

// Arrived notes that requests have come behind the connection's present one. They draw on no tick
// before the clock's: an ID is as late as its request.
func (i *Issuer) Arrived(c *Connection) { c.arrived = i.layout.TickAt(i.clock.Now().Wall) }

// sooner is the shorter of two waits, of which 0 is none.
func sooner(a, b time.Duration) time.Duration {
	if a <= 0 || 0 < b && b < a {
		return b
	}
	return a
}

// Answers counts what the clock guard decided for requests that met a clock behind the lane.
func (i *Issuer) Answers(a clockguard.Answer) uint64 { return i.answers[a].Load() }
