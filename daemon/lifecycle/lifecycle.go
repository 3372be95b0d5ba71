// Package lifecycle has what a daemon does from its start to its end, in the order that its
// promises need: how it joins its cluster, how it watches its clock, and how it leaves. Package
// daemon runs it beside what serves requests, and a simulated daemon runs the very same.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/generator"
)

const (
	// joinTimeout bounds one try to join.
	joinTimeout = 2 * time.Second
	// lastListing bounds the longest listing of the members: many may be starting at once.
	lastListing = time.Minute
	// firstJoinRetry and lastJoinRetry bound the time between tries.
	firstJoinRetry = 100 * time.Millisecond
	lastJoinRetry  = 2 * time.Second
	// leaveTimeout bounds the last exchanges with the coordinator. Whoever stops a daemon waits for
	// them, often with a limit of ten seconds.
	leaveTimeout = 2 * time.Second
)

// WatchEvery is how often the clock is looked at beside the requests, and WatchIdle how often while
// nothing is issued and no copy of the machine can be found: each look wakes three threads.
const (
	WatchEvery = 100 * time.Millisecond
	WatchIdle  = time.Second
)

// Lifecycle is one daemon's.
type Lifecycle struct {
	Holder *grant.Holder
	Layout *generator.Layout
	Clock  *clockguard.Known
	// Belief is how far a clock that runs ahead is believed.
	Belief clockguard.Belief
	Coord  string // the coordinator, as errors name it
	// Open opens the coordinator. It is called again where the servers went back before anything
	// was claimed.
	Open func(context.Context) (coord.Coordinator, error)
	// Final reports whether no further try to open or join can succeed; nil: each may.
	Final func(error) bool
	// Joined is called with the cluster before anything is claimed in it; nil: nobody is to know.
	Joined func(coord.Cluster)
	// Machine is the generation of the virtual machine that this was begun in.
	Machine generator.Generation
	// Status is told in a line how issuing is, whenever that changes; nil: nobody is to know.
	Status func(string)
	// Events counts what the log says with a code; nil: nobody counts it.
	Events *condition.Counts
	Log    hclog.Logger

	coordinator atomic.Pointer[coord.Coordinator] // the one that was joined
	resumed     bool                              // known time goes on from another process's, or was confirmed at the start
	waking      sync.Once
	stepped     chan struct{} // has Settle see to a step
	followed    atomic.Int64  // when Settle has had the clock followed last, on the monotonic clock; 0: never
	saidHeld    atomic.Bool   // a line has said that the clock is held, and none that it is back
}

// LayoutText is a layout, with its datacenter, as the cluster record names it.
func LayoutText(layout *generator.Layout, datacenter uint64) string {
	return fmt.Sprintf("%s;datacenter=%d", layout, datacenter)
}

// RestartWait is how long a fresh lane may have to wait for its floor before another worker ID is
// better, in a layout: what is wanted, and two ticks at the least.
func RestartWait(layout *generator.Layout, wanted time.Duration) time.Duration {
	return max(wanted, 2*layout.TickLength())
}

// Limits are the clock guard's for lanes of a layout.
func Limits(layout *generator.Layout, datacenter uint64, maxSleep time.Duration) (clockguard.Limits, error) {
	// The ring's span is what every lane of this layout has; a lane is made only to ask it.
	lane, err := generator.NewLane(layout, datacenter, 0, 0)
	if err != nil {
		return clockguard.Limits{}, err
	}
	tick := layout.TickLength()
	return clockguard.NewLimits(max(maxSleep, tick), time.Duration(lane.Span())*tick, tick)
}

// Join joins the cluster, trying again until ctx ends, and returns the coordinator if it was
// opened, for Leave. It waits until the clock of a start that knows of no earlier time is
// confirmed. It waits for a cluster to be made; one that this daemon does not fit into is an error.
func (l *Lifecycle) Join(ctx context.Context) (coord.Coordinator, error) {
	retry, listing := firstJoinRetry, firstAsk
	var coordinator coord.Coordinator
	var said string
	for {
		err := l.try(ctx, &coordinator)
		if err == nil {
			err = l.verify(ctx, listing)
			listing = min(2*listing, lastListing)
		}
		switch {
		case err == nil:
			return coordinator, nil
		case errors.As(err, new(*coord.LayoutError)), l.Final != nil && l.Final(err):
			return coordinator, err
		case ctx.Err() != nil:
			return coordinator, nil
		case l.Machine.Changed(), coordinator == nil:
		case errors.As(err, new(*coord.RestoredError)), errors.Is(err, coord.ErrTurnedAway), errors.Is(err, coord.ErrOtherCluster):
			_ = coordinator.Close() // it holds nothing, and the next one has not seen what the servers were before
			coordinator = nil
			l.coordinator.Store(nil)
		}
		l.Holder.NotJoined(err)
		if text := err.Error(); text != said {
			code := condition.Of(err)
			l.Log.Warn("waiting for the coordinator: cannot join the cluster", "code", code, "error", err, "do", code.Do())
			l.status("waiting for the coordinator: " + text)
			said = text
		}
		if l.Clock.Sleep(ctx, retry) != nil {
			return coordinator, nil
		}
		retry = min(2*retry, lastJoinRetry)
	}
}

// try opens the coordinator, and joins, unless an earlier try has.
func (l *Lifecycle) try(ctx context.Context, coordinator *coord.Coordinator) (err error) {
	if *coordinator == nil {
		if *coordinator, err = l.Open(ctx); err != nil {
			return fmt.Errorf("coordinator %q: %w", l.Coord, err)
		}
	}
	if l.coordinator.Load() != nil {
		return nil
	}
	c := *coordinator
	try, cancel := clockguard.WithTimeout(ctx, l.Clock, joinTimeout)
	defer cancel()
	cluster, err := c.Join(try, coord.Layout{
		Text:    LayoutText(l.Layout, l.Holder.Datacenter),
		Workers: min(l.Layout.Workers(), coord.MaxWorkers),
		Window:  l.Holder.Window(),
		Now:     max(0, l.Layout.TickAt(l.Clock.Now().Wall)),
	})
	if err != nil {
		return fmt.Errorf("coordinator %q: %w", l.Coord, err)
	}
	if l.Joined != nil {
		l.Joined(cluster)
	}
	l.Holder.Attach(c, cluster)
	l.coordinator.Store(&c)
	l.Log.Info("joined the cluster", "coordinator", l.Coord, "cluster", cluster.UUID)
	return nil
}

// Issuing is the status of a daemon that lacks nothing.
const Issuing = "issuing IDs"

func (l *Lifecycle) status(text string) {
	if l.Status != nil {
		l.Status(text)
	}
}

// Issuer is told of steps of the clock.
type Issuer interface {
	Check()
	Changed()
}

// Leave gives the worker ID back and ends the session, if a coordinator was opened. Requests, and
// all else that was begun, have ended before. In a copy of the machine it leaves worker ID and
// session as they are: they are the original's. The process of a copy ends next, without a word.
func (l *Lifecycle) Leave(ctx context.Context, coordinator coord.Coordinator) {
	ctx, cancel := clockguard.WithTimeout(ctx, l.Clock, leaveTimeout)
	defer cancel()
	_ = l.Holder.Shut(ctx) // it has logged what was not released; a copy is told next
	if l.Machine.Changed() {
		l.Log.Info("left worker ID and session to the original")
		return
	}
	if coordinator != nil {
		if err := coordinator.Close(); err != nil {
			l.Log.Warn("the coordinator session was not closed", "error", err)
		}
	}
	l.Log.Info("stopped")
}
