package etcd_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/etcd"
	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/internal/must"
)

// harness is a kit's harness on any client.
type harness struct {
	client *clientv3.Client
	config etcd.Config
	root   string
}

func (h *harness) kit(halt func(testing.TB)) coordtest.Harness {
	return coordtest.Harness{Open: h.open, Revoke: h.revoke, Wipe: h.wipe, Save: h.save, Halt: halt}
}

func (h *harness) open(t testing.TB, identity coord.Identity, wire *coordtest.Wire) coord.Coordinator {
	t.Helper()
	config := h.config
	config.Identity = identity
	c := must.Get(etcd.New(h.client, config))(t)
	h.root = c.Root()
	etcd.Watch(c, wire)
	t.Cleanup(func() { _ = c.Close() }) // the case may have halted the server
	return c
}

func (h *harness) revoke(t testing.TB, c coord.Coordinator) {
	t.Helper()
	if err := etcd.EndSession(t.Context(), c.(*etcd.Coordinator), h.client); err != nil {
		t.Fatalf("revoke: %v", err)
	}
}

func (h *harness) wipe(t testing.TB) {
	t.Helper()
	if got, err := h.client.Delete(t.Context(), h.root, clientv3.WithPrefix()); err != nil || got.Deleted == 0 {
		t.Fatalf("wipe: %v, %v", got, err)
	}
}

// save keeps all keys with their leases, and puts them back in one transaction.
func (h *harness) save(t testing.TB) (restore func()) {
	t.Helper()
	saved := must.Get(h.client.Get(t.Context(), h.root, clientv3.WithPrefix()))(t)
	return func() {
		t.Helper()
		h.wipe(t)
		var puts []clientv3.Op
		for _, kv := range saved.Kvs {
			puts = append(puts, clientv3.OpPut(string(kv.Key), string(kv.Value), clientv3.WithLease(clientv3.LeaseID(kv.Lease))))
		}
		must.Get(h.client.Txn(t.Context()).Then(puts...).Commit())(t)
	}
}

func TestConformanceCluster(t *testing.T) {
	c := etcdtest.Start(t, etcdtest.Options{Members: 3})
	client := c.Client()
	var trees atomic.Int64
	coordtest.Run(t, func(*testing.T) coordtest.Harness {
		prefix := fmt.Sprintf("tree%d", trees.Add(1))
		// On a machine that is busy an election may take seconds. No case waits for this to run
		// out.
		config := etcd.Config{Prefix: prefix, TryTimeout: 20 * time.Second}
		h := &harness{client: client, config: config}
		return h.kit(func(t testing.TB) {
			c.StopAll()
			t.Cleanup(c.StartAll) // for the next case, which has a tree of its own
		})
	})
}
