package linear_test

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/etcd"
	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/coord/zk"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// A Release is stored, its reply is lost, another opens the record, and the Release is
// tried again by itself: it is lost then, and has lowered the record all the same.
func TestReleaseThatIsLostMayHaveLowered(t *testing.T) {
	t.Parallel()
	const timeout = time.Minute
	t.Run("etcd", func(t *testing.T) {
		t.Parallel()
		c := etcdtest.Start(t, etcdtest.Options{})
		lostAfterwards(t, c.Endpoints(), func(addresses []string) (operated, error) {
			return etcd.Dial(etcd.Servers{Endpoints: addresses}, etcd.Config{Identity: coord.Identity{Incarnation: rand.Text()}, TTL: timeout, TryTimeout: timeout})
		})
	})
	t.Run("zk", func(t *testing.T) {
		t.Parallel()
		e := zktest.Start(t, zktest.Options{})
		lostAfterwards(t, e.Addresses(), func(addresses []string) (operated, error) {
			return zk.Dial(zk.Servers{Addresses: addresses}, zk.Config{Identity: coord.Identity{Incarnation: rand.Text()}, Timeout: timeout, TryTimeout: timeout})
		})
	})
}

func lostAfterwards(t *testing.T, addresses []string, dial func(addresses []string) (operated, error)) {
	t.Helper()
	broken := networkTo(t, addresses)
	joined := func(addresses []string) operated {
		c := must.Get(dial(addresses))(t)
		t.Cleanup(func() { _ = c.Close() }) // the servers may have ended
		must.Get(c.Join(t.Context(), layout))(t)
		return c
	}
	a, b := joined(broken.addresses()), joined(addresses)
	claim := must.Get(coordtest.Claim(t.Context(), a, coord.Request{Latest: 1 << 40}))(t)
	must.Do(t, claim.Extend(t.Context(), coord.Progress{Ceiling: 1000}))
	broken[0].Hold()
	released := make(chan error, 1)
	go func() { released <- claim.Release(t.Context(), 60) }()
	awaitCeiling(t, b, claim.Worker(), 60)
	next, err := coordtest.Claim(t.Context(), b, coord.Request{Worker: claim.Worker(), Latest: 1 << 40})
	if err != nil || next.Worker() != claim.Worker() || next.Floor() != 60 {
		t.Fatalf("the next claim: %+v, %v; want it above 60", next, err)
	}
	broken.die()
	broken.mend()
	if err := <-released; !errors.Is(err, coord.ErrLost) {
		t.Errorf("Release: %v, want ErrLost", err)
	}
	if err := next.Extend(t.Context(), coord.Progress{Ceiling: 500}); err != nil {
		t.Errorf("the next holder's Extend: %v", err)
	}
	awaitCeiling(t, b, claim.Worker(), 500)
}

// awaitCeiling waits until the record's ceiling is the tick.
func awaitCeiling(t *testing.T, c operated, worker int, want generator.Tick) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), give)
	defer cancel()
	for {
		marks, err := c.Marks(ctx)
		if err != nil {
			t.Fatalf("the ceiling of worker ID %d does not become %d: %v", worker, want, err)
		}
		for _, m := range marks {
			if m.Worker == worker && m.Ceiling == want {
				return
			}
		}
		pause(ctx, 10*time.Millisecond)
	}
}
