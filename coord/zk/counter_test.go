package zk_test

import (
	"errors"
	"strings"
	"testing"

	gozk "github.com/go-zookeeper/zk"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/claims"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/zk"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/internal/must"
)

// ZooKeeper counts sequential nodes with 32 bits, and at the end gives the last
// number again and again. No claim may come from that.
func TestSequenceCounterAtItsEnd(t *testing.T) {
	t.Parallel()
	e := zktest.Start(t, zktest.Options{})
	servers := zk.Servers{Addresses: e.Addresses(), Chroot: "/tree"}
	c, _ := joined(t, servers, zk.Config{})
	coordtest.Close(t, c)
	e.ForceCounter("/tree/claims", 1<<31-3)
	a, _ := joined(t, servers, zk.Config{})
	fresh := coord.Request{Fresh: true, Latest: 1 << 40}
	for _, worker := range []int{(1<<31 - 3) % 8, (1<<31 - 2) % 8} {
		claim, err := a.Claim(t.Context(), fresh)
		if err != nil || claim.Worker() != worker {
			t.Fatalf("%+v, %v; want worker ID %d, which was counted", claim, err, worker)
		}
	}
	b, _ := joined(t, servers, zk.Config{})
	var sticky coord.Claim
	for range 3 {
		claim, err := a.Claim(t.Context(), fresh)
		if !errors.Is(err, claims.ErrRefused) {
			t.Fatalf("%+v, %v; want ErrRefused", claim, err)
		}
		for _, want := range []string{"/tree/claims", "sequence counter", "stop the daemons, delete that node", "start them again"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q does not say %q", err, want)
			}
		}
		// One that names its worker ID itself goes on.
		sticky = claimed(t, b, 1)
		must.Do(t, sticky.Extend(t.Context(), coord.Progress{Ceiling: sticky.Floor() + 10}))
		must.Do(t, sticky.Release(t.Context(), sticky.Floor()+5))
	}
	// Nothing is left of those that were refused.
	for _, c := range []*zk.Coordinator{a, b} {
		own := must.Get(zk.Store(c).Own(t.Context()))(t)
		if want := map[*zk.Coordinator]int{a: 2}[c]; len(own) != want {
			t.Errorf("claims %+v are left, want %d", own, want)
		}
	}
	// A lost reply leaves one; it is found by its incarnation.
	zk.Intercept(a, func(k zk.Kind, send func() error) error {
		if k == "delete a claim" {
			return coordtest.ErrFault
		}
		return send()
	})
	_, err := a.Claim(t.Context(), fresh)
	must.Fail(t, err, claims.ErrRefused)
	if own, err := zk.Store(a).Own(t.Context()); err != nil || len(own) != 3 {
		t.Errorf("claims %+v, %v; want the one that could not be deleted too", own, err)
	}
	if ms, err := b.Members(t.Context()); err != nil || len(ms) != 2 {
		t.Errorf("members %+v, %v; want the 2 that own a worker ID", ms, err)
	}
	// What the error says helps.
	for _, c := range []*zk.Coordinator{a, b} {
		coordtest.Close(t, c)
	}
	client := e.Client()
	eventually(t, "no claim is left in the parent, which is deleted", func() bool {
		err := client.Delete("/tree/claims", -1)
		if err != nil && !errors.Is(err, gozk.ErrNotEmpty) {
			t.Fatal(err)
		}
		return err == nil
	})
	again, _ := joined(t, servers, zk.Config{})
	if claim, err := again.Claim(t.Context(), fresh); err != nil || claim.Worker() != 0 {
		t.Errorf("%+v, %v; want worker ID 0", claim, err)
	}
}
