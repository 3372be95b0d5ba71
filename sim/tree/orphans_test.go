package tree_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/claims"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/sim/tree"
)

// way brings one coordinator's requests to a tree, notes them, and can lose a reply.
// It is the coordinator's clock too, on which only pauses take time.
type way struct {
	clockguard.Clock
	tree   *tree.Tree
	loses  string // the request whose reply is lost next
	delays string // the request that is under way for long next
	land   func() // lets that one reach the tree
	asked  []string
	paused time.Duration
	tired  func() // called when more was sent, or more time passed, than any test is about
}

var errLost = errors.New("the reply was lost")

func (w *way) Carry(ctx context.Context, what string, _ bool, do func(*tree.Tree) func()) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if w.asked = append(w.asked, what); len(w.asked) > 10_000 {
		w.tired()
	}
	if what == w.delays {
		w.delays, w.land = "", func() { do(w.tree) }
		return errLost
	}
	answer := do(w.tree)
	if what == w.loses {
		w.loses = ""
		return errLost
	}
	answer()
	return nil
}

func (w *way) Pause(_ context.Context, d time.Duration, _ <-chan struct{}) {
	if w.paused += d; w.paused > time.Minute {
		w.tired()
	}
}

func (w *way) Await(signal <-chan struct{}) { <-signal }

func (w *way) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d)
}

// claim asks for a worker ID until there is one, or none, or the way is tired.
func (w *way) claim(ctx context.Context, c *claims.Coordinator, worker int) (coord.Claim, error) {
	ctx, w.tired = context.WithCancel(ctx)
	defer w.tired()
	return c.Claim(ctx, coord.Request{Worker: worker, Latest: 1 << 40})
}

// joined returns a coordinator in a cluster of so many worker IDs.
func joined(t *testing.T, kind tree.Kind, of *tree.Tree, name string, workers int, wrap func(claims.Store) claims.Store) (*claims.Coordinator, *way) {
	t.Helper()
	w := &way{Clock: clockguard.System{}, tree: of, tired: func() {}}
	c := must.Get(claims.New(wrap(tree.NewStore(kind, name, true, w)), claims.Config{Identity: coord.Identity{Host: name, Incarnation: name}, Clock: w}))(t)
	coordtest.Join(t, c, coord.Layout{Text: "layout", Workers: workers})
	return c, w
}

func plain(s claims.Store) claims.Store { return s }

// The creation of a claim reaches the servers long after its claimant gave up on it and looked for
// it. It bars its worker ID no longer than the claimant needs for some publishes, however late.
func TestAClaimThatLandsLateIsDeleted(t *testing.T) {
	onBoth(t, func(t *testing.T, kind tree.Kind) {
		servers := tree.New(kind)
		holder, w := joined(t, kind, servers, "holder", 2, plain)
		kept := must.Get(w.claim(t.Context(), holder, 0))(t)
		publish := func(times int) (sent int) {
			before := len(w.asked)
			for range times {
				must.Do(t, kept.Extend(t.Context(), coord.Progress{Ceiling: 100}))
			}
			return len(w.asked) - before
		}
		if got := publish(100); got != 100 {
			t.Errorf("100 publishes of a daemon whose claims were all answered made %d requests", got)
		}
		w.delays = "create a claim"
		if _, err := w.claim(t.Context(), holder, 1); !errors.Is(err, errLost) {
			t.Fatalf("the claim that is under way: %v, want %v", err, errLost)
		}
		if got := publish(100); got > 120 {
			t.Errorf("100 publishes after a claim without an answer made %d requests, want 120 at most", got)
		}
		w.land()
		if got := servers.Claims(); got != 2 {
			t.Fatalf("%d claims are there, want 2: the case is void", got)
		}
		publish(20)
		other, asks := joined(t, kind, servers, "other", 2, plain)
		if got, err := asks.claim(t.Context(), other, coord.AnyWorker); err != nil || got.Worker() != 1 {
			t.Errorf("the worker ID of a claim that nobody uses is not to be had: %v", err)
		}
	})
}

// beaten is a store on which somebody else is always faster, and gone again.
type beaten struct{ claims.Store }

func (b beaten) Create(ctx context.Context, layout claims.Entry, c claims.Node) (claims.Created, error) {
	made, err := b.Store.Create(ctx, layout, c)
	made.Before = append(made.Before, claims.Node{Name: "0000000-faster-t", Worker: made.Worker, Incarnation: "faster", Token: "t"})
	return made, err
}

func TestLostRoundsArePaced(t *testing.T) {
	onBoth(t, func(t *testing.T, kind tree.Kind) {
		c, w := joined(t, kind, tree.New(kind), "late", 2, func(s claims.Store) claims.Store { return beaten{s} })
		if _, err := w.claim(t.Context(), c, coord.AnyWorker); !errors.Is(err, context.Canceled) {
			t.Fatalf("Claim: %v, want the context's error", err)
		}
		if perSecond := float64(len(w.asked)) / w.paused.Seconds(); w.paused < time.Minute || perSecond > 13 {
			t.Errorf("%d requests in %v: too many, want 13 a second at most", len(w.asked), w.paused)
		}
	})
}
