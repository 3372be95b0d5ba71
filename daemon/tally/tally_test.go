package tally_test

import (
	"math"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flakeward/flakeward/daemon/tally"
)

// TestWhatManyCountAddsUp: whoever counts.
func TestWhatManyCountAddsUp(t *testing.T) {
	var table tally.Table
	next := tally.Request{Dialect: "resp", Command: "NEXT", Code: tally.OK}
	refused := tally.Request{Dialect: "resp", Command: "NEXT", Code: "bad-count"}
	gone := tally.Request{Dialect: "resp", Command: "NEXT", Code: tally.Gone}
	declined := tally.Request{Dialect: "resp", Command: "CLIENT", Code: tally.Declined}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i := range 1000 {
				table.Requests(next).Add(1)
				table.Requests(refused).Add(uint64(i % 2))
				table.Requests(gone).Add(1)
				table.Requests(declined).Add(1)
				table.IDs(tally.Integer).Add(3)
			}
		})
	}
	group.Wait()
	requests, errors, ids := table.Snapshot().Totals()
	if requests != 10000 || errors != 2000 || ids != 12000 {
		t.Errorf("%d requests, %d of them refused, %d IDs", requests, errors, ids)
	}
	if n := table.Snapshot().Requests[gone]; n != 4000 {
		t.Errorf("%d are gone", n)
	}
}

// TestBucketsHaveWhatTheySay: a duration is in the native bucket whose bounds are around it, and in
// each classic one that reaches it.
func TestBucketsHaveWhatTheySay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		took := time.Duration(rapid.Int64Range(-10, int64(2*time.Hour)).Draw(t, "took"))
		n := rapid.Uint64Range(1, 1000).Draw(t, "n")
		var h tally.Histogram
		h.Observe(n, took)
		d := h.Read()
		if want := max(took, 0) * time.Duration(n); d.Count != n || d.Sum != want {
			t.Fatalf("%d in all took %v, want %d and %v", d.Count, d.Sum, n, want)
		}
		for i, in := range d.Native {
			if in == 0 {
				continue
			}
			const slack = 1e-9 // of the logarithm
			upper := math.Exp2(float64(tally.FirstBucket+i) / (1 << tally.Schema))
			lower := math.Exp2(float64(tally.FirstBucket+i-1) / (1 << tally.Schema))
			first, last := i == 0, i == len(d.Native)-1
			if s := took.Seconds(); !last && s > upper*(1+slack) || !first && s <= lower*(1-slack) {
				t.Fatalf("%v is in the bucket from %v to %v s", took, lower, upper)
			}
		}
		for i, bound := range tally.Bounds {
			want := uint64(0)
			if max(took, 0).Seconds() <= bound {
				want = n
			}
			if d.Classic[i] != want {
				t.Fatalf("up to %v s there are %d, want %d", bound, d.Classic[i], want)
			}
		}
	})
}

// The first native bucket ends at 2^-20 s, which is between 953 and 954 ns.
func TestTheFirstBucketEndsWhereItSays(t *testing.T) {
	for took, bucket := range map[time.Duration]int{0: 0, 953: 0, 954: 1, 1000: 1} {
		var h tally.Histogram
		h.Observe(1, took)
		if d := h.Read(); d.Native[bucket] != 1 {
			t.Errorf("%v is not in bucket %d", took, bucket)
		}
	}
}

func TestObservingAllocatesNothing(t *testing.T) {
	var h tally.Histogram
	if n := testing.AllocsPerRun(1000, func() {
		h.Observe(1, time.Millisecond)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
