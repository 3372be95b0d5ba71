package etcd_test

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/flakeward/flakeward/coord/etcd"
	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/internal/must"
)

// endings counts what would end a lease.
type endings struct {
	clientv3.Lease
	revoked *atomic.Int64
}

func (e endings) Revoke(ctx context.Context, id clientv3.LeaseID) (*clientv3.LeaseRevokeResponse, error) {
	e.revoked.Add(1)
	return e.Lease.Revoke(ctx, id)
}

// A copy of a process must neither end the lease, which is the original's as well, nor keep it
// alive.
func TestDetachLeavesTheLease(t *testing.T) {
	cluster := etcdtest.Start(t, etcdtest.Options{})
	client := cluster.Client()
	must.Get(client.Get(t.Context(), "/"))(t) // connects
	before := runtime.NumGoroutine()
	for _, stuck := range []bool{false, true} {
		d := dial(t, etcd.Servers{Endpoints: cluster.Endpoints()}, etcd.Config{TTL: 2 * time.Second})
		d.works()
		var revoked atomic.Int64
		etcd.WrapLease(d.Coordinator, func(l clientv3.Lease) clientv3.Lease { return endings{l, &revoked} })
		lease := etcd.Lease(d.Coordinator)
		resume := func() {}
		if stuck {
			resume = cluster.Hang(0)
		}
		start := time.Now()
		if err := d.Detach(); err != nil {
			t.Errorf("stuck %v: %v", stuck, err)
		}
		took := time.Since(start)
		t.Logf("stuck %v: detached in %v", stuck, took)
		if took > time.Second {
			t.Errorf("stuck %v: Detach took %v", stuck, took)
		}
		resume()
		if n := revoked.Load(); n != 0 {
			t.Errorf("stuck %v: the lease was revoked %d times", stuck, n)
		}
		left, err := client.TimeToLive(t.Context(), lease, clientv3.WithAttachedKeys())
		if err != nil || left.TTL < 0 || len(left.Keys) != 1 {
			t.Errorf("stuck %v: the lease is %+v, %v; want it there with its claim", stuck, left, err)
		}
		eventually(t, "the lease expires, for nobody keeps it alive", func() error {
			left, err := client.TimeToLive(t.Context(), lease)
			if err == nil && left.TTL >= 0 {
				err = fmt.Errorf("%d s are left", left.TTL)
			}
			return err
		})
		eventually(t, "no goroutine is left", func() error {
			if n := runtime.NumGoroutine(); n > before {
				return fmt.Errorf("%d, there were %d", n, before)
			}
			return nil
		})
	}
}
