package tree_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/claims"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/sim/tree"
)

// servers carries the requests of many goroutines to one tree.
type servers struct {
	mu     sync.Mutex
	kind   tree.Kind
	tree   *tree.Tree
	halted chan struct{}
	stores map[coord.Coordinator]*tree.Store
}

// link is one store's way there.
type link struct {
	*servers
	wire *coordtest.Wire
}

var errNoAnswer = errors.New("no answer")

func (l link) Carry(ctx context.Context, _ string, _ bool, do func(*tree.Tree) func()) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	select {
	case <-l.halted:
		ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond) // Close has none
		defer cancel()
		<-ctx.Done()
		return errNoAnswer
	default:
	}
	var answer func()
	sent := make(chan error, 1)
	go func() {
		sent <- l.wire.Send(nil, func() error {
			l.mu.Lock()
			defer l.mu.Unlock()
			answer = do(l.tree)
			return nil
		})
	}()
	select {
	case err := <-sent:
		if err == nil {
			answer()
		}
		return err
	case <-ctx.Done(): // it may take place yet
		return ctx.Err()
	}
}

func (s *servers) open(t testing.TB, identity coord.Identity, wire *coordtest.Wire) coord.Coordinator {
	store := tree.NewStore(s.kind, identity.Incarnation, true, link{s, wire})
	c := must.Get(claims.New(store, claims.Config{Identity: identity}))(t)
	s.stores[c] = store
	t.Cleanup(func() { _ = c.Close() }) // the case may have halted the servers
	return c
}

func (s *servers) harness() coordtest.Harness {
	locked := func(do func()) {
		s.mu.Lock()
		defer s.mu.Unlock()
		do()
	}
	return coordtest.Harness{
		Open: s.open,
		Revoke: func(_ testing.TB, c coord.Coordinator) {
			session := s.stores[c].Session()
			locked(func() { s.tree.End(session) })
		},
		Halt: func(testing.TB) { close(s.halted) },
		Wipe: func(testing.TB) { locked(s.tree.Wipe) },
		Save: func(testing.TB) (restore func()) {
			var backup *tree.Tree
			locked(func() { backup = s.tree.Clone() })
			return func() { locked(func() { s.tree.Restore(backup) }) }
		},
	}
}

// The simulated coordinator keeps the contract that the real ones keep.
func TestConformance(t *testing.T) {
	for name, kind := range map[string]tree.Kind{"etcd": tree.Etcd, "ZooKeeper": tree.ZooKeeper} {
		t.Run(name, func(t *testing.T) {
			coordtest.Run(t, func(*testing.T) coordtest.Harness {
				s := &servers{kind: kind, tree: tree.New(kind), halted: make(chan struct{}), stores: map[coord.Coordinator]*tree.Store{}}
				return s.harness()
			})
		})
	}
}
