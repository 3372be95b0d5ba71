package etcd_test

import (
	"errors"
	"testing"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/etcd"
	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// tree is the servers of one test.
type tree struct {
	*etcdtest.Cluster
	t testing.TB
}

func newTree(t testing.TB) tree { return newServers(t, 1) }

func newServers(t testing.TB, members int) tree {
	t.Helper()
	return tree{etcdtest.Start(t, etcdtest.Options{Members: members}), t}
}

// dial returns a coordinator with a client of its own, not joined yet.
func (tr tree) dial(incarnation string) *etcd.Coordinator {
	tr.t.Helper()
	identity := coord.Identity{Host: "host" + incarnation, Incarnation: incarnation}
	c := must.Get(etcd.Dial(etcd.Servers{Endpoints: tr.Endpoints()}, etcd.Config{Identity: identity}))(tr.t)
	tr.t.Cleanup(func() { _ = c.Close() }) // the test may have stopped the servers
	return c
}

// daemon returns a joined coordinator.
func (tr tree) daemon(incarnation string) *etcd.Coordinator {
	tr.t.Helper()
	c := tr.dial(incarnation)
	coordtest.Join(tr.t, c, coord.Layout{Text: "layout", Workers: 8})
	return c
}

func (tr tree) claim(c *etcd.Coordinator, r coord.Request) coord.Claim {
	tr.t.Helper()
	return must.Get(c.Claim(tr.t.Context(), r))(tr.t)
}

func (tr tree) extend(c coord.Claim, to generator.Tick) {
	tr.t.Helper()
	must.Do(tr.t, c.Extend(tr.t.Context(), coord.Progress{Ceiling: to}))
}

func (tr tree) revoke(c *etcd.Coordinator) {
	tr.t.Helper()
	must.Do(tr.t, etcd.EndSession(tr.t.Context(), c, tr.Client()))
}

func want(worker int) coord.Request {
	return coord.Request{Worker: worker, Latest: 1 << 40}
}

// A record that is put back as it was earlier, as by a restore from a backup, is
// not what the holder saw last: it stops.
func TestRecordPutBack(t *testing.T) {
	tr := newTree(t)
	c := tr.daemon("a")
	claim := tr.claim(c, want(0))
	tr.extend(claim, 100)
	key := c.Root() + "workers/0000000"
	old, err := tr.Client().Get(t.Context(), key)
	if err != nil || len(old.Kvs) != 1 {
		t.Fatalf("no record %s: %v", key, err)
	}
	tr.extend(claim, 200)
	must.Get(tr.Client().Put(t.Context(), key, string(old.Kvs[0].Value)))(t)
	if err := claim.Extend(t.Context(), coord.Progress{Ceiling: 300}); !errors.Is(err, coord.ErrLost) {
		t.Errorf("Extend on a record that was put back: %v, want ErrLost", err)
	}
	// Its node is an orphan now, and no bar to itself.
	if got := tr.claim(c, want(0)); got.Worker() != 0 {
		t.Errorf("worker ID %d, want 0 again", got.Worker())
	}
}

// A record that cannot be read is neither assigned nor overwritten.
func TestDamagedRecord(t *testing.T) {
	tr := newTree(t)
	c := tr.daemon("a")
	key := c.Root() + "workers/0000002"
	must.Get(tr.Client().Put(t.Context(), key, `{"ceiling":`))(t)
	seen := map[int]bool{}
	for range 7 {
		seen[tr.claim(c, want(2)).Worker()] = true
	}
	if len(seen) != 7 || seen[2] {
		t.Errorf("assigned %v, want all but 2", seen)
	}
	var full *coord.ExhaustedError
	if _, err := c.Claim(t.Context(), want(2)); !errors.As(err, &full) {
		t.Errorf("Claim: %v, want an ExhaustedError", err)
	}
	// An operator is shown it, and a raise does not make it good.
	must.Get(c.Raise(t.Context(), 500))(t)
	marks, err := c.Marks(t.Context())
	if err != nil || len(marks) != 8 || !marks[2].Damaged || marks[3].Damaged || marks[2].Worker != 2 {
		t.Errorf("Marks: %+v, %v; want the third of 8 damaged", marks, err)
	}
	if h, err := c.History(t.Context(), 2); err != nil || len(h) != 0 {
		t.Errorf("History of it: %+v, %v", h, err)
	}
	tr.revoke(c)
	if other := tr.claim(c, want(2)); other.Worker() == 2 || other.Floor() != 500 {
		t.Errorf("after a raise: worker ID %d above %d, want another above 500", other.Worker(), other.Floor())
	}
	got, err := tr.Client().Get(t.Context(), key)
	if err != nil || string(got.Kvs[0].Value) != `{"ceiling":` {
		t.Errorf("the damaged record is now %v (%v)", got, err)
	}
}
