package etcd_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/etcd"
	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// tree is a server of one test.
type tree struct {
	*etcdtest.Cluster
	t testing.TB
}

func newTree(t testing.TB) tree { return tree{etcdtest.Start(t, etcdtest.Options{}), t} }

// daemon returns a joined coordinator.
func (tr tree) daemon(incarnation string) *etcd.Coordinator {
	tr.t.Helper()
	c, err := etcd.New(tr.Client(), etcd.Config{
		Identity: coord.Identity{Host: "host" + incarnation, Incarnation: incarnation},
	})
	must.Do(tr.t, err)
	tr.t.Cleanup(func() { coordtest.Close(tr.t, c) })
	coordtest.Join(tr.t, c, coord.Layout{Text: "layout", Workers: 8})
	return c
}

func (tr tree) claim(c *etcd.Coordinator, r coord.Request) coord.Claim {
	tr.t.Helper()
	return must.Get(c.Claim(tr.t.Context(), r))(tr.t)
}

func (tr tree) extend(c coord.Claim, p coord.Progress) {
	tr.t.Helper()
	must.Do(tr.t, c.Extend(tr.t.Context(), p))
}

func (tr tree) revoke(c *etcd.Coordinator) {
	tr.t.Helper()
	must.Do(tr.t, etcd.EndSession(tr.t.Context(), c, tr.Client()))
}

func want(worker int) coord.Request {
	return coord.Request{Worker: worker, Latest: 1 << 40}
}

// cut returns what to pass to Intercept so that the first transaction of a kind
// that is sent after arming, landed or not, ends the caller's context and fails.
func cut(k etcd.Kind, landed bool, armed *atomic.Bool, end func()) func(context.Context, etcd.Kind, func(context.Context) error) error {
	return func(ctx context.Context, got etcd.Kind, send func(context.Context) error) error {
		if got != k || !armed.CompareAndSwap(true, false) {
			return send(ctx)
		}
		if landed {
			if err := send(ctx); err != nil {
				return err
			}
		}
		end()
		return coordtest.ErrFault
	}
}

// The holder who came back, by a lost reply: the caller gives up on an opening
// whose outcome it does not know. Whether it was stored or not, the next one begins above the record.
func TestHolderWhoCameBackByALostReply(t *testing.T) {
	for _, landed := range []bool{false, true} {
		tr := newTree(t)
		j, k := tr.daemon("j"), tr.daemon("k")
		first := tr.claim(j, want(0))
		tr.extend(first, coord.Progress{Ceiling: 2})
		tr.revoke(j)
		between := tr.claim(k, want(0))
		tr.extend(between, coord.Progress{Ceiling: 4, Issued: 3})
		tr.revoke(k)

		ctx, cancel := context.WithCancel(t.Context())
		var armed atomic.Bool
		armed.Store(true)
		etcd.Intercept(j, cut("open a record", landed, &armed, cancel))
		if _, err := j.Claim(ctx, want(0)); !errors.Is(err, context.Canceled) {
			t.Fatalf("landed %v: %v, want the context's error", landed, err)
		}
		restart := tr.daemon("jj")
		tr.revoke(j)
		got := tr.claim(restart, want(0))
		if got.Worker() != 0 || got.Floor() != 4 {
			t.Errorf("landed %v: worker ID %d, floor %d; want 0, 4", landed, got.Worker(), got.Floor())
		}
	}
}

// An opening that nobody waited for bars nobody, whether or not it was stored.
func TestAnAbandonedOpening(t *testing.T) {
	for _, landed := range []bool{false, true} {
		tr := newTree(t)
		c := tr.daemon("a")
		tr.extend(tr.claim(c, want(3)), coord.Progress{Ceiling: 100})
		tr.revoke(c)
		ctx, cancel := context.WithCancel(t.Context())
		var armed atomic.Bool
		armed.Store(true)
		etcd.Intercept(c, cut(etcd.KindOpening, landed, &armed, cancel))
		if _, err := c.Claim(ctx, want(3)); err == nil {
			t.Fatal("an opening whose outcome is unknown was taken as done")
		}
		if got := tr.claim(c, want(3)); got.Worker() != 3 || got.Floor() != 100 {
			t.Errorf("landed %v: worker ID %d above %d, want 3 above 100: the orphan must not bar it", landed, got.Worker(), got.Floor())
		}
	}
}

// Two publishes in doubt, the first of which was stored: the claim recognises it
// and goes on from there, and a ceiling is acknowledged only once it is stored.
func TestExtendsInDoubt(t *testing.T) {
	tr := newTree(t)
	c := tr.daemon("a")
	claim := tr.claim(c, want(0))
	faults := &coordtest.Faults{}
	etcd.WatchFaults(c, faults)
	for i, landed := range [][]bool{{true, false}, {false, true}, {false, false}, {true, true}} {
		base := generator.Tick(1000 * (i + 1))
		for j, l := range landed {
			faults.Arm(0, l)
			if err := claim.Extend(t.Context(), coord.Progress{Ceiling: base + generator.Tick(j)}); !errors.Is(err, coordtest.ErrFault) {
				t.Fatalf("%v: Extend %d: %v, want the fault", landed, j, err)
			}
		}
		p := coord.Progress{Ceiling: base + 10, Issued: base}
		tr.extend(claim, p)
		m, err := c.Members(t.Context())
		if err != nil || len(m) != 1 || m[0].Ceiling != p.Ceiling || m[0].Issued != p.Issued {
			t.Errorf("%v: acknowledged %+v, stored %+v (%v)", landed, p, m, err)
		}
	}
}

// An Extend in doubt, then the claim is lost to another: that is a loss, whichever
// way the doubt was.
func TestExtendInDoubtThenLost(t *testing.T) {
	for _, landed := range []bool{false, true} {
		tr := newTree(t)
		a, b := tr.daemon("a"), tr.daemon("b")
		claim := tr.claim(a, want(0))
		tr.extend(claim, coord.Progress{Ceiling: 100})
		faults := &coordtest.Faults{}
		etcd.WatchFaults(a, faults)
		faults.Arm(0, landed)
		must.Fail(t, claim.Extend(t.Context(), coord.Progress{Ceiling: 200}), coordtest.ErrFault)
		tr.revoke(a)
		next := tr.claim(b, want(0))
		wantFloor := generator.Tick(100)
		if landed {
			wantFloor = 200
		}
		if next.Floor() != wantFloor {
			t.Errorf("landed %v: floor %d, want %d", landed, next.Floor(), wantFloor)
		}
		if err := claim.Extend(t.Context(), coord.Progress{Ceiling: 300}); !errors.Is(err, coord.ErrLost) {
			t.Errorf("landed %v: Extend: %v, want ErrLost", landed, err)
		}
	}
}

// A record that is put back as it was earlier, as by a restore from a backup, is
// not what the holder saw last: it stops.
func TestRecordPutBack(t *testing.T) {
	tr := newTree(t)
	c := tr.daemon("a")
	claim := tr.claim(c, want(0))
	tr.extend(claim, coord.Progress{Ceiling: 100})
	key := c.Root() + "workers/0000000"
	old, err := tr.Client().Get(t.Context(), key)
	if err != nil || len(old.Kvs) != 1 {
		t.Fatalf("no record %s: %v", key, err)
	}
	tr.extend(claim, coord.Progress{Ceiling: 200})
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

// The abandoned call: a create whose caller gave up reaches the server only
// later. The node is reaped and bars nobody.
func TestScheduleTheAbandonedCall(t *testing.T) {
	tr := newTree(t)
	c, other := tr.daemon("a"), tr.daemon("b")
	held := tr.claim(c, want(0))
	ctx, cancel := context.WithCancel(t.Context())
	var late func(context.Context) error
	etcd.Intercept(c, func(txn context.Context, k etcd.Kind, send func(context.Context) error) error {
		if k != etcd.KindCreate || late != nil {
			return send(txn)
		}
		late = send
		cancel()
		return ctx.Err()
	})
	_, err := c.Claim(ctx, want(5))
	must.Fail(t, err, context.Canceled)
	tr.extend(held, coord.Progress{Ceiling: 10}) // looks, and finds nothing yet
	must.Do(t, late(t.Context()))
	if m, err := c.Members(t.Context()); err != nil || len(m) != 2 {
		t.Fatalf("the late create did not land: %+v, %v", m, err)
	}
	tr.extend(held, coord.Progress{Ceiling: 20})
	if m, err := c.Members(t.Context()); err != nil || len(m) != 1 {
		t.Errorf("the late create was not reaped: %+v, %v", m, err)
	}
	if got := tr.claim(other, want(5)); got.Worker() != 5 {
		t.Errorf("worker ID %d, want 5", got.Worker())
	}
}
