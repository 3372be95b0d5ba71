package grant_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// The tests here are of holes that only a cluster of several hosts can have, by the numbers that
// docs/verification.md lists.

// Hole 1: the loss of the worker ID is noted, and nothing that issues ever asks. Here the process
// that was paused until its session was over, and its worker ID another's, issues on in its grant,
// which the other is above, and leaves the worker ID once it learns.
func TestHole1IssuingOnAfterTheWorkerIDWasLost(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		paused := w.host("J").start()
		paused.take()
		lane := paused.inUse()
		thief := w.host("K").stealFrom(paused) // the pause: J does nothing meanwhile, and the clock goes on beyond its grant
		thief.issues()
		if out := paused.take(); out != generator.AboveCeiling {
			t.Errorf("the first request after the pause met %v", out)
		}
		paused.issueAll() // whatever its clock shows
		must.Fail(t, paused.Publish(t.Context()), coord.ErrLost)
		paused.issueAll()
		paused.acquire()
		if paused.worker() == thief.worker() || !lane.Closed() {
			t.Errorf("holds worker ID %d, which %s has; the old lane is closed: %v", paused.worker(), thief.name, lane.Closed())
		}
		paused.issues()
		thief.issueAll()
	})
}

// Hole 2: whether a worker ID is stale is judged by the claimant's clock, and what is stale is
// deleted without a look at its version. Here a host whose clock is ahead takes nothing that is
// held, and what has become free meanwhile belongs to whoever claimed it first.
func TestHole2AFastClockStealsNothing(t *testing.T) {
	for _, ahead := range []time.Duration{5 * time.Minute, time.Hour} {
		onEach(t, func(t *testing.T, w *fixture) {
			var held []*process
			for len(held) < w.layout.Workers() {
				p := w.host(string(rune('A' + len(held)))).start()
				p.issueAll()
				held = append(held, p)
			}
			for _, p := range held { // it asks for each of them by name
				fast := w.fast("fast", ahead).bootFor(p.worker())
				fast.attach()
				var full *coord.ExhaustedError
				if err := fast.Acquire(t.Context(), false); !errors.As(err, &full) || full.Held != len(held) {
					t.Fatalf("%v ahead: the claim of worker ID %d ended with %v, want that all are held", ahead, p.worker(), err)
				}
				if fast.issueAll() != 0 {
					t.Error("issues without a worker ID")
				}
				fast.crash()
			}
			w.clock.Advance(window / 2)
			for _, p := range held {
				if err := p.Publish(t.Context()); err != nil {
					t.Errorf("%v ahead: %s lost its worker ID: %v", ahead, p.name, err)
				}
				p.issueAll()
			}

			// The one whose session has ended has lost its claim to the first who comes. That one's
			// is not deleted for being old.
			gone := held[1]
			gone.revoke()
			first := w.fast("fast", ahead).startFor(gone.worker())
			if first.worker() != gone.worker() || first.issueAll() == 0 {
				t.Fatalf("%v ahead: holds worker ID %d, want the free one, %d", ahead, first.worker(), gone.worker())
			}
			if err := gone.Publish(t.Context()); !errors.Is(err, coord.ErrLost) {
				t.Errorf("%v ahead: the publish ended with %v, want that the claim is lost", ahead, err)
			}
			var full *coord.ExhaustedError
			if err := gone.Acquire(t.Context(), false); !errors.As(err, &full) {
				t.Errorf("%v ahead: the second claim ended with %v, want that all are held", ahead, err)
			}
			gone.issueAll()
			must.Do(t, first.Publish(t.Context()))
			first.issueAll()
		})
	}
}

// Hole 3: an address and a process ID, or a host name, for an identity: two containers have the
// same. Here it is a preference only.
func TestHole3TwoContainersOfOneNameAndProcessID(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		first, second := w.host("172.17.0.2"), w.host("172.17.0.2")
		a, b := first.start(), second.start()
		if a.worker() == b.worker() {
			t.Fatalf("both hold worker ID %d", a.worker())
		}
		a.issueAll()
		b.issueAll()
		// The name's preference is now b's, and a starts again while b runs.
		taken := b.worker()
		a.crash()
		again := first.start()
		if again.worker() == taken {
			t.Errorf("the restart has worker ID %d, which the other holds", taken)
		}
		again.issueAll()
		w.clock.Advance(window / 2)
		if err := b.Publish(t.Context()); err != nil {
			t.Errorf("the other lost its worker ID: %v", err)
		}
		b.issueAll()

		// A third of that name comes while both are there.
		third := w.host("172.17.0.2").start()
		if third.worker() == taken || third.worker() == again.worker() {
			t.Errorf("the third has worker ID %d, as one of the others", third.worker())
		}
		third.issueAll()
	})
}

// Hole 6: of those that start for the first time together each takes worker ID 0.
func TestHole6RacingFirstStarts(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		var racers []*process
		for range w.layout.Workers() {
			racers = append(racers, w.host(string(rune('A'+len(racers)))).boot())
		}
		begin := make(chan struct{})
		var race sync.WaitGroup
		for _, p := range racers {
			race.Go(func() {
				<-begin
				c, cluster, err := p.join()
				if err == nil {
					p.Attach(c, cluster)
					err = p.Acquire(t.Context(), false)
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		close(begin)
		race.Wait()
		workers, clusters := map[int]bool{}, map[string]bool{}
		for _, p := range racers {
			workers[p.worker()], clusters[p.cluster] = true, true
			if p.issueAll() == 0 {
				t.Errorf("%s can issue nothing", p.name)
			}
		}
		if len(workers) != len(racers) || len(clusters) != 1 {
			t.Errorf("%d starts have worker IDs %v in clusters %v", len(racers), workers, clusters)
		}
	})
}

// Hole 12: the ephemeral node is made once, and nothing reacts to the end of its session. Here the
// claim is made again, for the same worker ID if it is free, and requests do not notice.
func TestHole12TheClaimIsMadeAgainAfterTheSessionExpired(t *testing.T) {
	onEachWith(t, time.Second, func(t *testing.T, w *fixture) {
		p := w.host("J").start()
		before, first := p.Holding(), p.inUse().Ceiling()
		must.Do(t, w.tree.expire(t.Context(), before.Claim))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- p.Hold(ctx) }()
		var now string
		w.until("the claim is made again", func(ctx context.Context) (bool, error) {
			// Time goes on, so that what is due happens, except for the wall clock at the end of
			// the grant, and at the lane's ceiling: how long a session takes to end is the servers'
			// affair, and how soon a mark is renewed that of the processors.
			w.clock.Advance(time.Millisecond)
			if w.tick() > min(before.Granted-generator.Tick(step/time.Millisecond), p.inUse().Ceiling()) {
				w.clock.Step(-time.Millisecond)
			}
			if out := p.take(); out != generator.Issued && out != generator.Full {
				return false, errors.New("a request met " + out.String())
			}
			names, err := w.tree.claims(ctx)
			if len(names) == 1 {
				now = names[0]
			}
			return len(names) == 1 && now != before.Claim && p.Holding().Claim == now && p.inUse().Ceiling() > first, err
		})
		stop()
		must.Do(t, <-ended)
		if after := p.Holding(); after.Worker != before.Worker || !after.Claimed {
			t.Errorf("holds worker ID %d, claimed: %v, had %d", after.Worker, after.Claimed, before.Worker)
		}
		p.issueAll()
	})
}
