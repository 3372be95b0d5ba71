package daemon

import (
	"sync/atomic"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/lifecycle"
	"github.com/flakeward/flakeward/generator"
)

// lane is what issues from the daemon's worker ID.
type lane struct {
	layout *generator.Layout
	first  time.Duration                // how long a fresh lane may have to wait for its floor; its holder claims by it
	holder atomic.Pointer[grant.Holder] // of the present start
	issuer *issue.Issuer
}

// ReLease implements issue.Owner, as do ExtendNow, CanAcquire and Condition.
func (l *lane) ReLease(of *generator.Lane) { l.holder.Load().ReLease(of) }

// ExtendNow tells the holder.
func (l *lane) ExtendNow() { l.holder.Load().ExtendNow() }

// sessionExpired tells the holder, if there is one: a newcomer may wait for an update.
func (l *lane) sessionExpired() {
	if h := l.holder.Load(); h != nil {
		h.SessionExpired()
	}
}

// CanAcquire asks the holder.
func (l *lane) CanAcquire() bool { return l.holder.Load().CanAcquire() }

// Condition asks the holder.
func (l *lane) Condition() error { return l.holder.Load().Condition() }

// Use implements grant.Issuer.
func (l *lane) Use(of *generator.Lane) { l.issuer.Use(of) }

// Changed implements grant.Issuer.
func (l *lane) Changed() { l.issuer.Changed() }

// opens tells how long it takes until the lane can issue its first ID, not above 0 if it can; false
// if that is not known.
func (l *lane) opens(now clockguard.Reading) (wait time.Duration, known bool) {
	of := l.issuer.Lane()
	if of == nil || of.Closed() || of.Ceiling() <= of.Floor() {
		return 0, false
	}
	return time.Duration(l.layout.UnixNanos(of.Floor()+1) - now.Wall), true
}

// state is one word for what a request to this lane would meet now.
func (l *lane) state(now clockguard.Reading) string {
	of := l.issuer.Lane()
	tick := l.layout.TickAt(now.Wall)
	wait, opens := l.opens(now)
	switch {
	case of == nil || of.Closed():
		return stateUnavailable
	case of.Highest() <= of.Floor() && (!opens || wait > l.first):
		return stateStopped // until the clock has come to the floor, or the first grant
	case max(tick, of.Highest()) > of.Ceiling():
		return stateStopped
	case tick < of.Highest() && condition.CodeOf(l.holder.Load().Condition()) == condition.ClockBehind:
		return stateStopped // until the clock has come to the last ID
	case tick < of.Highest():
		return stateClockBehind
	default:
		return stateReady
	}
}

// What INFO says of a lane, and of the daemon. Those in which nothing is served come first, and
// each is better than the one before.
const (
	stateStarting    = "starting"
	stateUnavailable = "unavailable"
	stateStopped     = "stopped"
	stateClockBehind = "clock-behind"
	stateReady       = "ready"
)

// serves reports whether a lane in that state can issue.
func serves(state string) bool { return state == stateClockBehind || state == stateReady }

// newLane makes a daemon's lane, which has no holder yet.
func newLane(c Config, layout *generator.Layout, clock clockguard.Clock) (*lane, error) {
	first := lifecycle.RestartWait(layout, c.RestartWait)
	limits, err := lifecycle.Limits(layout, c.IDs.Datacenter, c.Waiting.MaxSleep)
	if err != nil {
		return nil, err
	}
	l := &lane{layout: layout, first: first}
	l.issuer = issue.New(layout, clock, issue.Limits{
		Guard: limits, RestartWait: first, MaxBlock: c.Waiting.MaxBlock,
		Burst: c.Waiting.Burst,
	}, l)
	return l, nil
}
