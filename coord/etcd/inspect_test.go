package etcd_test

import (
	"testing"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/etcd"
)

// A daemon that inspects the cluster as operators do still claims, and an operator that
// only inspects cannot claim.
func TestInspectionByADaemon(t *testing.T) {
	tr := newTree(t)
	c := tr.daemon("a")
	if _, err := c.Inspect(t.Context()); err != nil {
		t.Fatal(err)
	}
	tr.extend(tr.claim(c, want(1, "", 0)), coord.Progress{Ceiling: 10})
	if _, err := c.Raise(t.Context(), 50); err != nil {
		t.Fatal(err)
	}
	if got := tr.claim(c, want(2, "", 0)); got.Floor() != 50 {
		t.Errorf("floor %d, want 50", got.Floor())
	}
	operator, err := etcd.New(tr.s.Client(), etcd.Config{Identity: coord.Identity{Incarnation: "o"}})
	if err != nil {
		t.Fatal(err)
	}
	defer operator.Close()
	if _, err := operator.Inspect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if claim, err := coordtest.Claim(t.Context(), operator, want(3, "", 0)); err == nil {
		t.Errorf("one that only visits got worker ID %d", claim.Worker())
	}
	// It may join later.
	if _, err := operator.Join(t.Context(), coord.Layout{Text: "layout", Workers: 8}); err != nil {
		t.Fatal(err)
	}
	if got := tr.claim(operator, want(3, "", 0)); got.Worker() != 3 {
		t.Errorf("worker ID %d, want 3", got.Worker())
	}
}
