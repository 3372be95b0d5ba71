package generator

import (
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

// A Take may be stopped between its look at a slot and its compare-and-swap, for as long as it likes.
// If the ring was retired meanwhile, that fails: another ring gives the tenant's numbers now.
func TestATakeThatComesLateGetsNothingOfARetiredRing(t *testing.T) {
	l := must.Get(ParseLayout("time=41@1ms,worker=4,tenant=10,sequence=8;epoch=2026-01-01"))(t)
	ln := must.Get(NewLane(l, 0, 1, 0))(t)
	ln.BoundTenants(1)
	ln.Raise(l.MaxTick())
	const at = 1000
	if _, out := ln.Take(7, at, 1); out != Issued {
		t.Fatal(out)
	}
	r := ln.rings[7].Load()
	looked := make([]uint64, len(r.slots))
	for i := range r.slots {
		looked[i] = r.slots[i].Load()
	}
	if _, out := ln.Take(8, at+Tick(ln.Span()), 1); out != Issued {
		t.Fatal(out)
	}
	for i := range r.slots {
		if r.slots[i].CompareAndSwap(looked[i], looked[i]+1) {
			t.Fatalf("slot %d still gives numbers", i)
		}
		if held := Tick(r.slots[i].Load() >> ln.usedBits); held <= l.MaxTick() {
			t.Fatalf("slot %d holds tick %d, which may come", i, held)
		}
	}
}
