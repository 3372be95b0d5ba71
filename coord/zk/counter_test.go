package zk_test

import (
	"testing"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/zk"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/internal/must"
)

// ZooKeeper counts sequential nodes with 32 bits, and at the end gives the last number again and
// again. Claims go on, and each has a worker ID of its own.
func TestSequenceCounterAtItsEnd(t *testing.T) {
	t.Parallel()
	e := zktest.Start(t, zktest.Options{})
	servers := zk.Servers{Addresses: e.Addresses(), Chroot: "/tree"}
	c, _ := joined(t, servers, zk.Config{})
	coordtest.Close(t, c)
	e.ForceCounter("/tree/claims", 1<<31-3)
	a, _ := joined(t, servers, zk.Config{})
	b, _ := joined(t, servers, zk.Config{})
	held := map[int]coord.Claim{}
	for i := range 6 {
		by := []*zk.Coordinator{a, b}[i%2]
		claim := must.Get(by.Claim(t.Context(), coord.Request{Fresh: i > 1, Worker: i, Latest: 1 << 40}))(t)
		if held[claim.Worker()] != nil {
			t.Errorf("worker ID %d is held twice", claim.Worker())
		}
		held[claim.Worker()] = claim
	}
	for _, claim := range held {
		must.Do(t, claim.Extend(t.Context(), coord.Progress{Ceiling: claim.Floor() + 10}))
	}
}
