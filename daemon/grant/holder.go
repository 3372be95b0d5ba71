// Package grant keeps the lane supplied: it claims a worker ID, has the coordinator extend the
// grant, and raises the lane's ceiling to that. The order of those steps is what makes an ID
// unique; docs/guarantees.md has the invariants that the comments here number.
//
// It is one machine. Hold asks a situation for the next step, takes it, and notes how it ended,
// again and again. A situation (situation.go) is all that decides: the clock, the lease in use,
// what is asked for, and how the last steps ended. The steps (exchange.go) ask the coordinator:
// claim a worker ID, extend its grant, give a replaced one back. A lease (lease.go) is a worker ID
// with its claim, its lane and its grant; one is in use, and one more may be retiring: it was
// replaced and is to be given back. Package lifecycle joins the cluster and calls Attach before,
// and Shut at the end.
package grant

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
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
	RestartWait time.Duration // how long a fresh lane may wait for its floor before another worker ID is better
	Clock       clockguard.Clock
	Age         time.Duration        // of the processes before this one that it goes on for; see Holder.furthest
	Random      func() float64       // in [0,1), for jitter; nil: the runtime's
	Machine     generator.Generation // of the virtual machine; another one makes this process a copy
	Events      *condition.Counts    // counts claims that were lost; nil: nobody counts them
	Log         hclog.Logger
}

// Holder holds at most one worker ID that is in use, and one that is retiring. It is made by New.
//
// One goroutine at a time takes its steps: where another daemon is taken over that of Acquire, then
// that of Hold, then that of Shut. All other methods may be called from any goroutine.
type Holder struct {
	Config
	issuer Issuer
	born   clockguard.Mono   // when the process began, or the first of those that it goes on for
	coord  coord.Coordinator // the one that was joined; set before anything is claimed

	// Of who takes the steps.
	why    condition.Code  // why the next worker ID may be another one than the last
	lookAt clockguard.Mono // when the record of a cluster whose servers were restored may be looked at again

	unwanted atomic.Pointer[generator.Lane] // the last lane in whose place another was asked for; nil: it was met, or refused
	wake     chan struct{}                  // has Hold look at its situation again
	expired  atomic.Bool                    // a session has expired: the claim may be lost

	failure   atomic.Pointer[condition.Condition] // what keeps the ceiling from rising; nil: nothing
	again     atomic.Int64                        // when a worker ID may be asked for again, by the monotonic clock; 0: at once
	published atomic.Int64                        // see Holding.Published
	stuck     atomic.Int64                        // since when the clock keeps IDs from being issued, by that clock; 0: it does not

	revoked atomic.Bool // final: the cluster is no more

	mu                sync.Mutex // guards what follows; never held over a call that waits
	known             coord.Cluster
	current, retiring lease
	issued            map[int]generator.Last // up to where each worker ID is known to be issued from
}

// New makes a holder that holds nothing.
func New(c Config, issuer Issuer) *Holder {
	if c.Random == nil {
		c.Random = rand.Float64
	}
	k := &Holder{
		Config: c, issuer: issuer, born: c.Clock.Now().Mono - clockguard.Mono(c.Age),
		wake: make(chan struct{}, 1), current: none(), retiring: none(), issued: map[int]generator.Last{},
	}
	k.again.Store(never)
	k.fail(condition.Starting, fmt.Errorf("the daemon is starting: coordinator %s has not answered yet", c.Coord))
	return k
}

// NotJoined notes why the cluster could not be joined.
func (k *Holder) NotJoined(err error) {
	k.again.Store(never)
	k.fail(condition.Of(err), err)
}

// Attach gives the holder the coordinator that it has joined, before Acquire or Hold.
func (k *Holder) Attach(c coord.Coordinator, cluster coord.Cluster) {
	k.coord = c
	k.Learn(func() coord.Cluster { return cluster })
	k.again.Store(0)
	k.fail(condition.NoWorker, errors.New("no worker ID is claimed"))
}

// ReLease implements issue.Owner.
func (k *Holder) ReLease(lane *generator.Lane) {
	if k.unwanted.Swap(lane) != lane {
		k.ExtendNow()
	}
}

// ExtendNow implements issue.Owner.
func (k *Holder) ExtendNow() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// SessionExpired has Hold find out within a Publish whether the claim is lost, as if something had
// been issued: the others tell by the claim that this daemon lives.
func (k *Holder) SessionExpired() { k.expired.Store(true) }

// CanAcquire implements issue.Owner: whether another worker ID can be had, as far as is known.
func (k *Holder) CanAcquire() bool { return int64(k.now().Mono) >= k.again.Load() }
