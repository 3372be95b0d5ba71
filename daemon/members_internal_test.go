package daemon

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// asked is a coordinator that counts what it is asked.
type asked struct {
	coord.Coordinator
	looks   atomic.Int64
	answers chan error
}

func (a *asked) Look(ctx context.Context) (coord.Cluster, error) {
	a.looks.Add(1)
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second) // a test that fails ends
	defer cancel()
	select {
	case err := <-a.answers:
		return coord.Cluster{UUID: "u"}, err
	case <-ctx.Done():
		return coord.Cluster{}, ctx.Err()
	}
}

func (a *asked) Members(context.Context) ([]coord.Member, error) { return nil, nil }

func membersOf(t *testing.T, answers int) (*members, *asked, *clocktest.Manual) {
	t.Helper()
	layout := must.Get(generator.ParseLayout(laneText))(t)
	clock := clocktest.NewManual(layout.Epoch().Add(1000 * time.Hour))
	m := newMembers(&Daemon{clock: clockguard.NewKnown(clock, nil, clockguard.Belief{}), layout: layout, config: DefaultConfig()})
	a := &asked{answers: make(chan error, answers)}
	c := coord.Coordinator(a)
	m.coordinator.Store(&c)
	m.joined.Store(&coord.Cluster{UUID: "u"})
	return m, a, clock
}

var errAway = errors.New("away")

// However many ask for the members, the coordinator is asked once at a time, and again a second
// after it has answered or failed to.
func TestTheCoordinatorIsAskedOnceForAllWhoWantTheMembers(t *testing.T) {
	for _, answer := range []error{nil, errAway} {
		synctest.Test(t, func(t *testing.T) {
			m, a, clock := membersOf(t, 0)
			defer m.close()
			const callers = 10
			got := make(chan error, callers)
			ask := func() {
				_, err := m.status(t.Context())
				got <- err
			}
			for range callers {
				go ask()
			}
			synctest.Wait()
			left, leave := context.WithCancel(t.Context())
			leave()
			if _, err := m.status(left); !errors.Is(err, context.Canceled) {
				t.Errorf("whoever leaves gets %v", err)
			}
			a.answers <- answer
			for range callers {
				if err := <-got; !errors.Is(err, answer) {
					t.Errorf("one of several gets %v, want %v", err, answer)
				}
			}
			clock.Advance(membersFor - 1)
			if ask(); !errors.Is(<-got, answer) || a.looks.Load() != 1 {
				t.Errorf("within a second, the coordinator was asked %d times", a.looks.Load())
			}
			clock.Advance(1)
			go ask()
			a.answers <- nil
			if err := <-got; err != nil || a.looks.Load() != 2 {
				t.Errorf("after a second: %v, asked %d times", err, a.looks.Load())
			}
		})
	}
}

// The question ends without its callers: at its timeout, and with the daemon.
func TestAQuestionForTheMembersEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, a, clock := membersOf(t, 0)
		began := time.Now()
		if _, err := m.status(t.Context()); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != membersTimeout {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		clock.Advance(membersFor)
		got := make(chan error)
		go func() {
			_, err := m.status(t.Context())
			got <- err
		}()
		synctest.Wait()
		go m.close()
		if err := <-got; !errors.Is(err, context.Canceled) {
			t.Errorf("at the end of the daemon: %v", err)
		}
		clock.Advance(membersFor)
		if _, err := m.status(t.Context()); !errors.Is(err, context.Canceled) || a.looks.Load() != 2 {
			t.Errorf("after it: %v, asked %d times", err, a.looks.Load())
		}
	})
}
