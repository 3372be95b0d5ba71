// Package grant keeps the lane supplied: it claims a worker ID, has the coordinator extend the
// grant, and raises the lane's ceiling to that. The order of those steps is what makes an ID unique;
// docs/guarantees.md has the invariants that the comments here number.
//
// Everything that decides is in methods that do one step and return: Acquire, Publish, Shut. Hold does
// the first two in time; package lifecycle calls Shut.
package grant

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/generator"
)

// Issuer uses the lane that it is given, and learns when more may be issued.
type Issuer interface {
	Use(*generator.Lane)
	Changed()
}

// Config is what a Holder works on.
type Config struct {
	Layout      *generator.Layout
	Datacenter  uint64
	FromZero    bool   // each tick begins at number 0; false: see generator.Lane.Roll
	Coord       string // which coordinator, for errors
	Timing      Timing
	RestartWait time.Duration // how long a fresh lane may wait for its floor before a claim elsewhere is better
	Clock       clockguard.Clock
	Age         time.Duration        // of the processes before this one that it goes on for; see pace.reach
	Random      func() float64       // in [0,1), for jitter; nil: the runtime's
	Machine     generator.Generation // of the virtual machine; another one makes this process a copy
	Events      *condition.Counts    // counts claims that were lost, and floors that are ahead; nil: nobody counts them
	Log         hclog.Logger
}

// Holder holds at most one worker ID that is in use, and one that is being left. It is made by New.
// It has a part for each idea: holdings are what is held; the claimer claims, extends and releases;
// contact knows whether the coordinator answers; demand is what requests ask for.
type Holder struct {
	Config
	Issued  *Issued
	pace    *pace
	held    *holdings
	contact *contact
	demand  *demand
	claimer *claimer
	why     string       // why the next worker ID may be another one than the last; of the goroutine that runs Hold
	stuck   atomic.Int64 // since when the clock is behind and no ID is to be had, by that clock; 0: that is not so
}

// New makes a holder that holds nothing.
func New(c Config, issuer Issuer) *Holder {
	if c.Random == nil {
		c.Random = rand.Float64
	}
	issued := &Issued{highest: map[int]generator.Tick{}}
	p := newPace(c)
	d := &demand{wake: make(chan struct{}, 1)}
	held := &holdings{
		pace: p, issuer: issuer, issued: issued, log: c.Log, state: state{current: none(), draining: none()},
	}
	issued.held = held
	link := &contact{pace: p, held: held, issuer: issuer, issued: issued, log: c.Log, backoff: backoff{pace: p}}
	link.failure.set(p.now(), fmt.Errorf("%w: coordinator %s has not answered yet", errStarting, c.Coord))
	return &Holder{
		Config: c, Issued: issued, pace: p, held: held, contact: link, demand: d,
		claimer: &claimer{
			held: held, contact: link, demand: d, pace: p, issuer: issuer, issued: issued,
			machine: c.Machine, datacenter: c.Datacenter, fromZero: c.FromZero, events: c.Events, log: c.Log,
		},
	}
}

// LayoutText is a layout, with its datacenter, as the cluster record names it.
func LayoutText(layout *generator.Layout, datacenter uint64) string {
	return fmt.Sprintf("%s;datacenter=%d", layout, datacenter)
}

// LayoutText is the layout as the cluster record names it.
func (k *Holder) LayoutText() string { return LayoutText(k.Layout, k.Datacenter) }

// Window is how far beyond the clock a grant of a process that is old enough reaches, in ticks.
func (k *Holder) Window() generator.Tick { return k.pace.window() }

// Cluster is the UUID of the cluster that the holder is attached to; empty: of none yet.
func (k *Holder) Cluster() string { return k.held.cluster() }

// Holding shows the worker ID in use.
func (k *Holder) Holding() Holding {
	shown := k.held.snapshot().current.shown()
	shown.Published = k.contact.published.Load()
	shown.Claims = k.held.claims()
	return shown
}

// Idle reports whether an ID could be had, and none was within the last second.
func (k *Holder) Idle() bool {
	h := k.held.snapshot().current
	now := k.pace.tick()
	return h.lane != nil && now <= h.ceiling() && h.lane.Highest()+ticks(k.Layout, time.Second) < now
}

// NotJoined notes why the cluster could not be joined.
func (k *Holder) NotJoined(err error) { k.contact.notJoined(err) }

// Attach gives the holder the coordinator that it has joined, before Acquire or Hold.
func (k *Holder) Attach(c coord.Coordinator, cluster coord.Cluster) {
	k.claimer.coord = c
	k.held.attach(cluster.UUID)
	k.Issued.Learn(func() coord.Cluster { return cluster })
	k.contact.joined()
}

// Publish has the grant extended as far as it may reach, together with what was issued. After
// coord.ErrLost the holder holds no claim, and issues on within the grant that it has.
func (k *Holder) Publish(ctx context.Context) error { return k.claimer.publish(ctx) }

// Revoke ends all that was issued for a cluster that is no more: in the one that has taken its
// place the worker IDs may be others'. It is final, and may be called from any goroutine: a claim
// that is being made meanwhile is revoked as well.
func (k *Holder) Revoke() { k.held.revoke() }

// Shut ends the lanes and gives the worker ID back. The record has the exact last tick then, if the
// coordinator answers. A copy keeps its hands off all of it: ErrCopied.
func (k *Holder) Shut(ctx context.Context) error { return k.claimer.shut(ctx) }
