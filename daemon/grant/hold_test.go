package grant_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/generator"
)

// hasty is a clock by which whoever is asked may have the question end at once.
type hasty struct {
	*clocktest.Manual
	end context.CancelFunc
}

func (c *hasty) Pause(ctx context.Context, d time.Duration, signal <-chan struct{}) {
	clockguard.Pause(ctx, c.Manual, d, signal)
}

func (c *hasty) Await(signal <-chan struct{}) { clockguard.Await(c.Manual, signal) }

func (c *hasty) WithTimeout(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
	ctx, c.end = context.WithCancel(ctx)
	return ctx, c.end
}

// ZooKeeper's servers turn away who knows more than they do, without an answer: that is learned
// when the question is given up. The raise is looked for after that.
func TestWhoIsTurnedAwayLooksForTheRaise(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		p, clock := w.host("J").boot(), &hasty{Manual: w.clock}
		p.Config.Clock = clock
		p.Holder = grant.New(p.Config, p)
		p.attach()
		p.acquire()
		lane, to := p.inUse(), w.tick()+10
		if lane.Ceiling() <= to {
			t.Fatalf("granted up to %d; the test is void", lane.Ceiling())
		}
		w.raise(to)
		p.coord.before = func(string) error {
			clock.end()
			return fmt.Errorf("%w: %w", coord.ErrTurnedAway, context.DeadlineExceeded)
		}
		run(t, p)
		w.until("the lane is cut", func(context.Context) (bool, error) {
			w.clock.BlockUntil(1)
			w.clock.Advance(step / 4)
			return lane.Ceiling() <= to, nil
		})
	})
}

// Nobody asks, and all that the servers say is that they were restored: the raise is looked for
// each publish, before the grant has ended and long after.
func TestWhoIssuesNothingLooksForTheRaiseEachPublish(t *testing.T) {
	const publish = 10 * time.Second
	l := newFixture(t).loopingWith(grant.Timing{Window: 10 * time.Minute, Publish: publish}, 0.5)
	looks := 0
	l.coord.looked = func() { looks++ }
	l.restored()
	l.pass(6 * time.Second) // half of a young daemon's grant
	for range 3 {
		before := looks
		l.pass(10 * publish)
		if n := looks - before; n < 9 || n > 11 {
			t.Errorf("%d looks in ten publishes", n)
		}
	}
}

// fickle is a coordinator that lends a worker ID to whoever asks.
type fickle struct {
	coord.Coordinator
	raise         coord.Raise // that is known
	extended      error       // how each Extend ends
	none          error       // that there is no other worker ID, which requests ask for whenever one may be had; nil: there is
	all           bool        // so it is for who has none, too
	claims, fresh int
	p             *process
}

// ask has a request ask for another worker ID, if there may be one.
func (f *fickle) ask() {
	if lane := f.p.inUse(); f.none != nil && lane != nil && f.p.CanAcquire() {
		f.p.ReLease(lane)
	}
}

func (f *fickle) Known() coord.Cluster { return coord.Cluster{Raise: f.raise} }

func (f *fickle) Claim(_ context.Context, r coord.Request) (coord.Claim, error) {
	if f.claims++; f.claims > 1000 {
		return nil, errCut // or the test would never end
	}
	if r.Fresh {
		f.fresh++
		f.ask()
	}
	if f.none != nil && (r.Fresh || f.all) {
		return nil, f.none
	}
	return fickleClaim{f: f, worker: f.claims % 4}, nil
}

type fickleClaim struct {
	coord.Claim
	f      *fickle
	worker int
}

func (c fickleClaim) Worker() int                                   { return c.worker }
func (c fickleClaim) Name() string                                  { return fmt.Sprint(c.worker) }
func (c fickleClaim) Opening() string                               { return "opening" }
func (c fickleClaim) Floor() generator.Tick                         { return 0 }
func (c fickleClaim) Extend(context.Context, coord.Progress) error  { return c.f.extended }
func (c fickleClaim) Release(context.Context, generator.Last) error { return nil }

// holdsOn has a daemon hold for a minute.
func (f *fickle) holdsOn(t *testing.T) {
	t.Helper()
	w := &fixture{t: t, clock: clocktest.NewManual(epoch.Add(1000 * time.Hour)), layout: parse(t, text)}
	h := w.host("J")
	h.random = func() float64 { return 0.5 }
	p := h.boot()
	f.p = p
	p.Attach(f, coord.Cluster{})
	run(t, p)
	for range 600 {
		w.clock.BlockUntil(1)
		f.ask()
		w.clock.Advance(100 * time.Millisecond)
	}
	w.clock.BlockUntil(1)
}

// The pauses between tries grow to a second, and only a grant makes them short again: a claim does
// not.
func TestAClaimThatIsLostAgainAndAgainIsMadeSeldom(t *testing.T) {
	f := &fickle{extended: coord.ErrLost}
	if f.holdsOn(t); f.claims < 55 || f.claims > 70 {
		t.Errorf("%d claims in a minute", f.claims)
	}
}

// Servers that lag tell an old raise, of each worker ID anew: each grant is cut, and another one is
// claimed, but not without a pause.
func TestALaneThatIsCutAgainAndAgainIsChangedSeldom(t *testing.T) {
	f := &fickle{raise: coord.Raise{ClusterEpoch: "before", Floor: 1}}
	if f.holdsOn(t); f.claims < 55 || f.claims > 75 || f.fresh != f.claims-1 {
		t.Errorf("%d claims in a minute, and %d of another worker ID", f.claims, f.fresh)
	}
}

// Requests go on asking while another worker ID is looked for. That there is none answers all of
// them: it is not asked again before the wait is over.
func TestThatThereIsNoOtherWorkerIDAnswersAllWhoHaveAsked(t *testing.T) {
	f := &fickle{none: &coord.ExhaustedError{Held: 4, Workers: 4}}
	if f.holdsOn(t); f.fresh < 40 || f.fresh > 60 {
		t.Errorf("another worker ID was asked for %d times in a minute", f.fresh)
	}
}

// Where nothing is held, there is nothing to extend: that no worker ID is to be had is waited out
// whole.
func TestWhoHasNoWorkerIDWaitsUntilThereMayBeOne(t *testing.T) {
	f := &fickle{none: &coord.ExhaustedError{Held: 4, Workers: 4}, all: true}
	if f.holdsOn(t); f.claims < 40 || f.claims > 55 {
		t.Errorf("a worker ID was asked for %d times in a minute", f.claims)
	}
}
