package move_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/move"
	"github.com/flakeward/flakeward/internal/must"
)

// hooked is a side on which something happens around writes.
type hooked struct {
	coord.Mover
	before, after func(coord.Stage) // Change to a stage
	store         func(worker int)  // before Store
}

func (m hooked) Change(ctx context.Context, was, next coord.Place) error {
	if m.before != nil {
		m.before(next.Stage)
	}
	err := m.Mover.Change(ctx, was, next)
	if err == nil && m.after != nil {
		m.after(next.Stage)
	}
	return err
}

func (m hooked) Store(ctx context.Context, at coord.Place, c coord.Copy) error {
	if m.store != nil {
		m.store(c.Worker)
	}
	return m.Mover.Store(ctx, at, c)
}

// One operator moves, a second one goes on with the same move and is slow, a third one takes it
// back: the first does not seal again by the same name. What the second one wrote late would
// replace what the source granted in between.
func TestTakenBackWhileTwoMove(t *testing.T) {
	bothWays(t, func(t *testing.T, from, to func() string) {
		f := newFixture(t, from(), to())
		first, second, third := between(t, f.from, f.to), between(t, f.from, f.to), between(t, f.from, f.to)
		begun, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
		second.To.Mover = hooked{Mover: second.To.Mover, store: func(worker int) {
			if worker == 1 {
				close(begun)
				<-goOn
			}
		}}
		seals, released := 0, false
		release := func() {
			if !released {
				released = true
				close(goOn)
				<-ended
			}
		}
		first.From.Mover = hooked{Mover: first.From.Mover, after: func(stage coord.Stage) {
			if stage != coord.Sealed {
				return
			}
			if seals++; seals > 1 {
				return
			}
			go func() {
				defer close(ended)
				_, _ = second.Run(t.Context()) // what becomes of it does not matter here
			}()
			<-begun
			if aborted, err := third.Abort(t.Context()); err != nil || !aborted {
				t.Errorf("taken back: %v, %v", aborted, err)
			}
			if !f.extended() {
				t.Error("taken back, the source does not grant")
			}
		}}
		first.To.Mover = hooked{Mover: first.To.Mover, before: func(stage coord.Stage) {
			if stage == coord.Serving {
				release()
			}
		}}
		_, err := first.Run(t.Context())
		if e := (*move.RefusedError)(nil); !errors.As(err, &e) || !strings.Contains(e.Why, "taken back") {
			t.Errorf("the first: %v, want a *RefusedError that says so", err)
		}
		release()
		f.judge("after all of them")
		if seals != 1 {
			t.Errorf("sealed %d times by one name", seals)
		}
		must.Get(third.Run(t.Context()))(t)
		f.moved("at the end")
	})
}

// Two operators give the same command at once: the cluster is moved once. With two targets one of
// them is refused, and the cluster is at the other one's.
func TestTwoMoveAtOnce(t *testing.T) {
	bothWays(t, func(t *testing.T, from, to func() string) {
		f := newFixture(t, from(), to())
		both := make(chan error, 2)
		for range 2 {
			m := between(t, f.from, f.to)
			go func() {
				_, err := m.Run(t.Context())
				both <- err
			}()
		}
		must.Do(t, <-both, <-both)
		f.moved("to one target")

		other := newFixture(t, from(), to())
		elsewhere := to()
		errs := map[string]chan error{other.to: make(chan error, 1), elsewhere: make(chan error, 1)}
		for target, done := range errs {
			m := between(t, other.from, target)
			go func() {
				_, err := m.Run(t.Context())
				done <- err
			}()
		}
		first, second := <-errs[other.to], <-errs[elsewhere]
		if (first == nil) == (second == nil) {
			t.Fatalf("to %s: %v; to %s: %v; want one of them to be refused", other.to, first, elsewhere, second)
		}
		if first != nil {
			other.to = elsewhere
		}
		other.moved("to one of two targets")
	})
}

// A move is taken back by those who know where it goes, whether the target can be had or not.
func TestTakenBackByItsTarget(t *testing.T) {
	bothWays(t, func(t *testing.T, from, to func() string) {
		f := newFixture(t, from(), to())
		m := between(t, f.from, f.to)
		stop := errors.New("stop")
		m.To.Mover = failingStore{m.To.Mover, stop}
		_, err := m.Run(t.Context())
		must.Fail(t, err, stop)
		other := move.Move{From: m.From, To: move.Side{URL: "etcd://elsewhere:2379/x"}}
		_, err = other.Abort(t.Context())
		if e := (*move.RefusedError)(nil); !errors.As(err, &e) || !strings.Contains(e.Why, f.to) || f.extended() {
			t.Errorf("by another target: %v, want a *RefusedError that names the target, and nothing granted", err)
		}
		right := move.Move{From: m.From, To: move.Side{URL: f.to}}
		if aborted, err := right.Abort(t.Context()); err != nil || !aborted || !f.extended() {
			t.Errorf("by its own target, which cannot be had: %v, %v", aborted, err)
		}
	})
}

// failingStore is a side that takes no record in.
type failingStore struct {
	coord.Mover
	err error
}

func (m failingStore) Store(context.Context, coord.Place, coord.Copy) error { return m.err }
