package daemon

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/daemon/life"
	"github.com/flakeward/flakeward/generator"
)

// lane is what issues from one worker ID: its claim, its grant, its journal and its clock guard are
// its own, so that what holds one lane up holds up no other.
type lane struct {
	number int // 0 for the first
	layout *generator.Layout
	first  time.Duration                // how long a fresh lane may have to wait for its floor, as its claim was told
	holder atomic.Pointer[grant.Holder] // of the present start
	issuer *issue.Issuer
}

// ReLease implements issue.Owner, as do the next three.
func (l *lane) ReLease(of *generator.Lane) { l.holder.Load().ReLease(of) }

// ExtendNow tells the holder.
func (l *lane) ExtendNow() { l.holder.Load().ExtendNow() }

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

// soonest is the lane that can issue an ID first, and how long that takes; nil if that is not known
// of any.
func (d *Daemon) soonest(now clockguard.Reading) (first *lane, wait time.Duration) {
	for _, l := range d.lanes {
		if w, known := l.opens(now); known && (first == nil || w < wait) {
			first, wait = l, w
		}
	}
	return first, wait
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

// makeLanes makes the daemon's lanes, which have no holders yet.
func (d *Daemon) makeLanes() error {
	c := d.config
	first := life.FirstWait(d.layout, c.timing(d.layout).Step, c.Waiting.MaxSleep)
	limits, err := life.Limits(d.layout, c.IDs.Datacenter, c.Waiting.MaxSleep)
	if err != nil {
		return err
	}
	for number := range c.IDs.Lanes {
		l := &lane{number: number, layout: d.layout, first: first}
		l.issuer = issue.New(d.layout, d.clock, issue.Limits{
			Guard: limits, FirstWait: first, MaxBlock: c.Waiting.MaxBlock,
			Burst: c.Waiting.Burst, BurstUnordered: c.Waiting.BurstOrder == OrderNone,
		}, l)
		d.lanes = append(d.lanes, l)
	}
	return nil
}

// makeKeepers makes the lanes' holders of a start, each with its journal in dir.
func (d *Daemon) makeKeepers(dir *journal.Dir) error {
	c := d.config
	issued := grant.NewIssued()
	for _, l := range d.lanes {
		file, err := dir.Lane(l.number)
		if err != nil {
			return fmt.Errorf("lane %d: %w", l.number, err)
		}
		log := d.log.Named("grant")
		if c.IDs.Lanes > 1 {
			log = log.With("lane", l.number)
		}
		l.holder.Store(grant.New(grant.Config{
			Layout:     d.layout,
			Datacenter: c.IDs.Datacenter,
			Coord:      c.coordinator().Text,
			Accept:     c.acceptCluster(),
			Timing:     c.timing(d.layout),
			FirstWait:  l.first,
			Clock:      d.clock,
			Journal:    file,
			Lane:       l.number,
			Issued:     issued,
			Machine:    d.machine,
			Log:        log,
		}, l))
	}
	return nil
}

// condition is what keeps the first lane that has any from issuing; without any, that nothing is
// known.
func (d *Daemon) condition() error {
	for _, l := range d.lanes {
		if err := l.Condition(); err != nil {
			return err
		}
	}
	return errNoCondition
}

var errNoCondition = errors.New("no lane says what it waits for; the clock may not have come to its first tick yet")

// granted is the highest ceiling that any lane has from the coordinator.
func (d *Daemon) granted() generator.Tick {
	var highest generator.Tick
	for _, l := range d.lanes {
		highest = max(highest, l.holder.Load().Holding().Granted)
	}
	return highest
}
