package daemon

import (
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/lifecycle"
	"github.com/flakeward/flakeward/daemon/metrics"
	"github.com/flakeward/flakeward/generator"
)

// lane is what issues from one worker ID: its claim, its grant, its journal and its clock guard are
// its own, so that what holds one lane up holds up no other.
type lane struct {
	number int   // 0 for the first
	all    lanes // the daemon's, with this one
	layout *generator.Layout
	first  time.Duration                // how long a fresh lane may have to wait for its floor; its holder claims by it
	holder atomic.Pointer[grant.Holder] // of the present start
	issuer *issue.Issuer
}

// ReLease implements issue.Owner, as do the next three.
func (l *lane) ReLease(of *generator.Lane) { l.holder.Load().ReLease(of) }

// ExtendNow tells the holder.
func (l *lane) ExtendNow() { l.holder.Load().ExtendNow() }

// CanAcquire asks the holder.
func (l *lane) CanAcquire() bool { return l.holder.Load().CanAcquire() }

// Condition asks the holder, and, where that says that its lane has stopped, those of the other
// lanes: requests were served until the last of them had stopped.
func (l *lane) Condition() error {
	last := l.holder.Load().Condition()
	for _, other := range l.all {
		if other != l {
			last = condition.Later(last, other.holder.Load().Condition())
		}
	}
	return last
}

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
	case max(tick, of.Highest()) > of.Ceiling() && !l.holder.Load().Holding().Idle:
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

var states = []string{stateStarting, stateUnavailable, stateStopped, stateClockBehind, stateReady}

// serves reports whether a lane in that state can issue.
func serves(state string) bool { return state == stateClockBehind || state == stateReady }

// lanes are those of one daemon, at least one.
type lanes []*lane

// newLanes makes a daemon's lanes, which have no holders yet.
func newLanes(c Config, layout *generator.Layout, clock clockguard.Clock) (all lanes, err error) {
	first := lifecycle.FirstWait(layout, c.timing(layout).Step, c.Waiting.MaxSleep)
	limits, err := lifecycle.Limits(layout, c.IDs.Datacenter, c.Waiting.MaxSleep)
	if err != nil {
		return nil, err
	}
	for number := range c.IDs.Lanes {
		l := &lane{number: number, layout: layout, first: first}
		l.issuer = issue.New(layout, clock, issue.Limits{
			Guard: limits, FirstWait: first, MaxBlock: c.Waiting.MaxBlock,
			Burst: c.Waiting.Burst,
		}, l)
		all = append(all, l)
	}
	for _, l := range all {
		l.all = all
	}
	return all, nil
}

// soonest is the lane that can issue an ID first, and how long that takes; nil if that is not known
// of any.
func (all lanes) soonest(now clockguard.Reading) (first *lane, wait time.Duration) {
	for _, l := range all {
		if w, known := l.opens(now); known && (first == nil || w < wait) {
			first, wait = l, w
		}
	}
	return first, wait
}

// condition is what keeps the first lane that has any from issuing; without any, that nothing is
// known.
func (all lanes) condition() error {
	for _, l := range all {
		if err := l.holder.Load().Condition(); err != nil {
			return err
		}
	}
	return errNoCondition
}

var errNoCondition = errors.New("no lane says what it waits for; the clock may not have come to its first tick yet")

// granted is the highest ceiling that any lane has from the coordinator.
func (all lanes) granted() generator.Tick {
	var highest generator.Tick
	for _, l := range all {
		highest = max(highest, l.holder.Load().Holding().Granted)
	}
	return highest
}

// cluster is the cluster that IDs are issued in: all lanes are of one. Empty: none was joined,
// nor is a grant of one in the journal.
func (all lanes) cluster() string {
	for _, l := range all {
		if id := l.holder.Load().Cluster(); id != "" {
			return id
		}
	}
	return ""
}

// best is one word for what a request would meet now, which is what it meets at the best of the
// lanes.
func best(of []metrics.Lane) string {
	best := 0
	for _, l := range of {
		best = max(best, slices.Index(states, l.State))
	}
	return states[best]
}
