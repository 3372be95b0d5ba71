package coordtest

import (
	"errors"
	"slices"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

var ranging = []testCase{
	{"range: no claim names another worker ID", rangeKept},
	{"range: widened, live claims stay and what is added begins above", widened},
	{"range: worker IDs are never taken away", narrowed},
	{"range: a lost reply leaves a widening done or not, and the next lowers nothing", widenedInDoubt},
}

// upper are the upper ones of the kit's eight worker IDs.
var upper = coord.WorkerRange{First: 5, Count: 3}

// ranged is a fresh cluster that assigns upper alone.
func (k *kit) ranged() *node {
	k.Helper()
	k.ids = upper
	return k.start("first")
}

func rangeKept(k *kit) {
	first := k.ranged()
	// The host had a worker ID outside of it, as far as it knows.
	requests := []coord.Request{wanting(1), fresh(), anyone(), {Worker: 4, Look: true, Latest: 1 << 40}, {Worker: 6, Latest: 1 << 40}, fresh()}
	var held []coord.Claim
	for i, r := range requests {
		n := first
		if i%2 == 1 {
			n = k.start("other")
		}
		c, err := n.Claim(k.Context(), r)
		var full *coord.ExhaustedError
		switch {
		case i < upper.Count && err != nil:
			k.Fatalf("Claim(%+v): %v", r, err)
		case i < upper.Count && !upper.Has(c.Worker()):
			k.Errorf("Claim(%+v): worker ID %d, want one of %v", r, c.Worker(), upper)
		case i < upper.Count:
			held = append(held, c)
		case !errors.As(err, &full) || full.Held != upper.Count || full.Workers != upper.Count:
			k.Errorf("Claim(%+v) with all of %v held: %v, want an ExhaustedError of %d of %[4]d", r, upper, err, upper.Count)
		}
	}
	if ms := first.members(); len(ms) != upper.Count {
		k.Errorf("%d members, want %d: %+v", len(ms), upper.Count, ms)
	}
	k.release(held[0], 10)
	if c := k.start("late").claim(wanting(0)); c.Worker() != held[0].Worker() {
		k.Errorf("worker ID %d, want %d, which is free", c.Worker(), held[0].Worker())
	}
}

func widened(k *kit) {
	n := k.ranged()
	old := []coord.Claim{n.claim(fresh()), n.claim(fresh())}
	old = append(old, n.claim(anyone()))
	for _, c := range old {
		k.extend(c, coord.Progress{Ceiling: 300, Issued: 200})
	}
	before := n.members()
	o := k.operator()
	for range 2 { // to do it twice does no harm
		must.Do(k, o.Widen(k.Context(), coord.WorkerRange{First: 2, Count: 6}, 5000))
	}
	if v := k.inspected(); v.Range != (coord.WorkerRange{First: 2, Count: 6}) || v.Floor != 0 || v.ClusterEpoch != "" {
		k.Errorf("Inspect: %+v", v)
	}
	if after := n.members(); !slices.Equal(after, before) {
		k.Errorf("the members were\n%+v and are\n%+v", before, after)
	}
	for _, c := range old {
		k.extend(c, coord.Progress{Ceiling: 400, Issued: 200})
	}
	must.Do(k, o.Widen(k.Context(), coord.WorkerRange{}, 6000))
	held := map[int]bool{}
	for _, c := range old {
		held[c.Worker()] = true
	}
	for i := range k.workers - upper.Count {
		r := fresh()
		if i%2 == 1 {
			r = wanting(i)
		}
		c := n.claim(r)
		above := generator.Tick(5000)
		if c.Worker() < 2 {
			above = 6000
		}
		if held[c.Worker()] || upper.Has(c.Worker()) || c.Floor() != above {
			k.Errorf("worker ID %d above %d; want another one, none of %v, above %d", c.Worker(), c.Floor(), upper, above)
		}
		held[c.Worker()] = true
	}
	if ms := n.members(); len(ms) != k.workers {
		k.Errorf("%d members of %d worker IDs: %+v", len(ms), k.workers, ms)
	}
	// What was held before is not lifted.
	k.release(old[0], 380)
	n.above(old[0].Worker(), 380)
}

func narrowed(k *kit) {
	n, o := k.ranged(), k.operator()
	before := must.Get(o.Inspect(k.Context()))(k)
	for _, to := range []coord.WorkerRange{{First: 6, Count: 2}, {First: 5, Count: 2}, {Count: 4}} {
		var narrow *coord.NarrowError
		if err := o.Widen(k.Context(), to, 9); !errors.As(err, &narrow) || *narrow != (coord.NarrowError{Wanted: to, Cluster: upper}) {
			k.Errorf("Widen(%v): %v, want a NarrowError", to, err)
		}
	}
	if err := o.Widen(k.Context(), coord.WorkerRange{First: 5, Count: 4}, 9); err == nil {
		k.Error("a worker ID that the layout does not have was added")
	}
	if after, err := o.Inspect(k.Context()); err != nil || after != before {
		k.Errorf("Inspect: %+v, %v; want %+v", after, err, before)
	}
	if c := n.claim(wanting(2)); !upper.Has(c.Worker()) {
		k.Errorf("worker ID %d, want one of %v", c.Worker(), upper)
	}
}

func widenedInDoubt(k *kit) {
	k.ids = coord.WorkerRange{First: 7, Count: 1}
	var to coord.WorkerRange
	lifted := 0 // by a widening that failed
	k.inDoubt(func(o client, before coord.Inspected) error {
		k.ids = coord.WorkerRange{}
		to.First = max(before.Range.First-1, 1)
		to.Count = k.workers - to.First
		return o.Widen(k.Context(), to, 10)
	}, func(what string, before, after coord.Inspected, failure error) {
		if done := after.Range != before.Range; !done && (failure == nil || after != before) {
			k.Errorf("%s: from %+v to %+v, and the answer was %v", what, before, after, failure)
		}
		seen := k.operator()
		defer Close(k, seen)
		for _, m := range k.marks(seen) {
			if !before.Range.Has(m.Worker) && m.Ceiling != 10 {
				k.Errorf("%s: worker ID %d begins above %d, want 10", what, m.Worker, m.Ceiling)
			}
		}
	}, func(what string, o client, after coord.Inspected) { // made again, it is done
		added := to.First
		if _, there := k.mark(o, added); !there || after.Range.Has(added) {
			must.Do(k, o.Widen(k.Context(), after.Range, 10))
			return
		}
		lifted++
		must.Do(k, o.Widen(k.Context(), to, 5))
		if m, _ := k.mark(o, added); m.Ceiling != 10 {
			k.Errorf("%s: worker ID %d began above 10, and after a widening with a lower floor above %d", what, added, m.Ceiling)
		}
	})
	if lifted == 0 {
		k.Error("no widening failed that had written its floor; the case is void")
	}
}
