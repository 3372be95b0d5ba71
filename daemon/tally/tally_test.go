package tally_test

import (
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

// TestBucketsHaveWhatTheySay: a duration is in the bucket whose bounds are around it.
func TestBucketsHaveWhatTheySay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		took := time.Duration(rapid.Int64Range(-10, int64(2*time.Hour)).Draw(t, "took"))
		n := rapid.Uint64Range(1, 1000).Draw(t, "n")
		var h tally.Histogram
		h.Observe(n, took)
		d := h.Read()
		if want := max(took, 0) * time.Duration(n); d.Sum != want {
			t.Fatalf("all took %v, want %v", d.Sum, want)
		}
		for i, in := range d.Counts {
			s := max(took, 0).Seconds()
			above, below := i == 0 || s > tally.Bounds[i-1], i == len(tally.Bounds) || s <= tally.Bounds[i]
			if want := map[bool]uint64{true: n}[above && below]; in != want {
				t.Fatalf("%v: bucket %d has %d, want %d", took, i, in, want)
			}
		}
	})
}

func TestObservingAllocatesNothing(t *testing.T) {
	var h tally.Histogram
	if n := testing.AllocsPerRun(1000, func() {
		h.Observe(1, time.Millisecond)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
