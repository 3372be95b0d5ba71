package linear_test

import (
	"context"
	"errors"
	"fmt"
	random "math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/etcd"
	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/coord/zk"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/internal/must"
)

func TestEtcd(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, etcdtest.Options{Members: 3})
	client := must.Get(clientv3.New(clientv3.Config{Endpoints: c.Endpoints(), Logger: zap.NewNop()}))(t)
	defer client.Close()
	prove(t, servers{
		addresses: c.Endpoints(),
		fresh:     true,
		dial: func(addresses []string, tree string, identity coord.Identity, timeout time.Duration) (operated, error) {
			return etcd.Dial(etcd.Servers{Endpoints: addresses}, etcd.Config{Prefix: tree, Identity: identity, TTL: timeout, TryTimeout: attempt})
		},
		revoke: func(ctx context.Context, tree, claim string) error {
			return revokeLease(ctx, client, "/"+tree+"/claims/"+claim)
		},
		inject: func(rng *random.Rand) (string, func()) {
			leader := c.Leader()
			other := rng.IntN(3)
			switch n := rng.IntN(10); {
			case n < 4 && leader >= 0:
				c.Stop(leader)
				return "leader killed", func() { c.Start(leader) }
			case n < 6:
				c.Stop(other)
				return "member killed", func() { c.Start(other) }
			case n < 9:
				return "member hung", c.Hang(other)
			default:
				c.StopAll()
				return "all killed", c.StartAll
			}
		},
	})
}

// revokeLease ends the lease that a key is attached to.
func revokeLease(ctx context.Context, client *clientv3.Client, key string) error {
	got, err := client.Get(ctx, key)
	if err != nil || len(got.Kvs) == 0 {
		return err // a node that is not there is gone
	}
	_, err = client.Revoke(ctx, clientv3.LeaseID(got.Kvs[0].Lease))
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return nil
	}
	return err
}

// nowhere says that no server is on this machine, so that the leader is asked for the time.
func nowhere(netip.Addr) bool { return false }

func TestZooKeeper(t *testing.T) {
	t.Parallel()
	// A leader that was paused for longer than its followers wait finds another in its place.
	const tick, limit = 200 * time.Millisecond, 8
	e := zktest.Start(t, zktest.Options{Members: 3, Tick: tick, MaxSession: lasting, Config: map[string]string{
		"initLimit": "200", "syncLimit": fmt.Sprint(limit),
	}})
	prove(t, servers{
		addresses: e.Addresses(),
		dial: func(addresses []string, tree string, identity coord.Identity, timeout time.Duration) (operated, error) {
			return zk.Dial(zk.Servers{Addresses: addresses, Chroot: "/" + tree}, zk.Config{Identity: identity, Timeout: timeout, TryTimeout: attempt, Own: nowhere})
		},
		inject: func(rng *random.Rand) (string, func()) {
			leader := e.Leader()
			follower := (leader + 1 + rng.IntN(2)) % 3
			switch n := rng.IntN(10); {
			case n < 3:
				e.Kill(leader)
				return "leader killed", func() { e.Start(leader) }
			case n < 5:
				e.Kill(follower)
				return "follower killed", func() { e.Start(follower) }
			case n < 8:
				e.Pause(follower)
				return "follower paused", func() { e.Resume(follower) }
			default:
				e.Pause(leader)
				return "leader paused", func() {
					if rng.IntN(2) == 0 {
						pause(t.Context(), tick*limit)
					}
					e.Resume(leader)
				}
			}
		},
	})
}
