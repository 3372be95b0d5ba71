package tree_test

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/claims"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/sim/tree"
)

// servers carries the requests of many goroutines to one tree.
type servers struct {
	mu     sync.Mutex
	kind   tree.Kind
	tree   *tree.Tree
	halted chan struct{}
	links  map[coord.Coordinator]*link
}

// link is one store's way there.
type link struct {
	*servers
	store  *tree.Store
	faults coordtest.Faults

	delay struct {
		sync.Mutex
		armed bool
		after int
		held  chan struct{}
		late  func()
	}
}

var errNoAnswer = errors.New("no answer")

func (l *link) Carry(ctx context.Context, _ string, _ bool, do func(*tree.Tree) func()) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond) // Close has none
	defer cancel()
	var answer func()
	send := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		answer = do(l.tree)
	}
	select {
	case <-l.halted:
		<-ctx.Done()
		return errNoAnswer
	default:
	}
	if l.hold(send) {
		<-ctx.Done()
		return ctx.Err()
	}
	err := l.faults.Send(func() error { send(); return nil })
	if err == nil {
		answer()
	}
	return err
}

func (l *link) hold(send func()) bool {
	l.delay.Lock()
	defer l.delay.Unlock()
	if !l.delay.armed {
		return false
	}
	if l.delay.after--; l.delay.after >= 0 {
		return false
	}
	l.delay.armed, l.delay.late = false, send
	close(l.delay.held)
	return true
}

func (s *servers) open(t testing.TB, identity coord.Identity) coord.Coordinator {
	l := &link{servers: s}
	l.store = tree.NewStore(s.kind, identity.Incarnation, true, l)
	c, err := claims.New(l.store, claims.Config{Identity: identity})
	if err != nil {
		t.Fatal(err)
	}
	s.links[c] = l
	t.Cleanup(func() { _ = c.Close() }) // the case may have halted the servers
	return c
}

func (s *servers) harness() coordtest.Harness {
	return coordtest.Harness{
		Open: s.open,
		Revoke: func(_ testing.TB, c coord.Coordinator) {
			session := s.links[c].store.Session()
			s.mu.Lock()
			defer s.mu.Unlock()
			s.tree.End(session)
		},
		Halt: func(testing.TB) { close(s.halted) },
		Wipe: func(testing.TB) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.tree.Wipe()
		},
		Save: func(testing.TB) func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			backup := s.tree.Clone()
			return func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.tree.Restore(backup)
			}
		},
		Fault: func(_ testing.TB, c coord.Coordinator, n int, landed bool) func() bool {
			return s.links[c].faults.Arm(n, landed)
		},
		Delay: func(_ testing.TB, c coord.Coordinator, n int) (<-chan struct{}, func()) {
			d := &s.links[c].delay
			d.Lock()
			defer d.Unlock()
			d.armed, d.after, d.held = true, n, make(chan struct{})
			return d.held, func() {
				d.Lock()
				late := d.late
				d.Unlock()
				late()
			}
		},
		Operator: func(t testing.TB) coord.Operator {
			return s.open(t, coord.Identity{Incarnation: rand.Text()}).(*claims.Coordinator)
		},
	}
}

// The simulated coordinator keeps the contract that the real ones keep.
func TestConformance(t *testing.T) {
	for name, kind := range map[string]tree.Kind{"etcd": tree.Etcd, "ZooKeeper": tree.ZooKeeper} {
		t.Run(name, func(t *testing.T) {
			coordtest.Run(t, func(*testing.T) coordtest.Harness {
				s := &servers{kind: kind, tree: tree.New(kind), halted: make(chan struct{}), links: map[coord.Coordinator]*link{}}
				return s.harness()
			})
		})
	}
}
