package zk_test

import (
	"sync/atomic"
	"testing"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/zk"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/internal/must"
)

// The marks are raised between a node's making and the look at the layout, and the
// node cannot be deleted then: the next try is another node, which it does not bar.
func TestNodeOfATryThatFailedBarsNobody(t *testing.T) {
	e := zktest.Shared(t)
	servers := zk.Servers{Addresses: e.Addresses(), Chroot: e.Chroot()}
	operator, _ := joined(t, servers, zk.Config{})
	c, _ := joined(t, servers, zk.Config{})
	var raised, failed atomic.Bool
	zk.Intercept(c, func(k zk.Kind, send func() error) error {
		if k == "delete a claim" && failed.CompareAndSwap(false, true) {
			return coordtest.ErrFault
		}
		err := send()
		if k == "create a claim" && raised.CompareAndSwap(false, true) {
			if _, err := operator.Raise(t.Context(), 10); err != nil {
				t.Error(err)
			}
		}
		return err
	})
	claim := claimed(t, c, 3)
	for range 8 {
		must.Do(t, claim.Extend(t.Context(), coord.Progress{Ceiling: 5000}))
	}
	if !failed.Load() {
		t.Fatal("no deletion failed; the test is void")
	}
	names, _, err := e.Client().Children(servers.Chroot + "/claims")
	if err != nil || len(names) != 1 || names[0] != claim.Name() {
		t.Errorf("the claims are %v, %v; want %s alone", names, err, claim.Name())
	}
}
