package etcd_test

import (
	"testing"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/internal/must"
)

// A daemon that inspects the cluster as operators do still claims, and an operator that
// only inspects cannot claim.
func TestInspectionByADaemon(t *testing.T) {
	tr := newTree(t)
	c := tr.daemon("a")
	must.Get(c.Inspect(t.Context()))(t)
	tr.extend(tr.claim(c, want(1)), 10)
	must.Get(c.Raise(t.Context(), 50))(t)
	if got := tr.claim(c, want(2)); got.Floor() != 50 {
		t.Errorf("floor %d, want 50", got.Floor())
	}
	operator := tr.dial("o")
	must.Get(operator.Inspect(t.Context()))(t)
	if claim, err := operator.Claim(t.Context(), want(3)); err == nil {
		t.Errorf("one that only visits got worker ID %d", claim.Worker())
	}
	// It may join later.
	coordtest.Join(t, operator, coord.Layout{Text: "layout", Workers: 8})
	if got := tr.claim(operator, want(3)); got.Worker() != 3 {
		t.Errorf("worker ID %d, want 3", got.Worker())
	}
}
