package ask

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/internal/wire"
)

func TestBatch(t *testing.T) {
	for _, tt := range []struct {
		ids  []int64
		want []evidence.Run
	}{
		{[]int64{7}, []evidence.Run{{First: 7, Step: 1, N: 1}}},
		{[]int64{7, 8, 9}, []evidence.Run{{First: 7, Step: 1, N: 3}}},
		{[]int64{7, 100, 101, 102}, []evidence.Run{{First: 7, Step: 1, N: 1}, {First: 100, Step: 1, N: 3}}},
		{[]int64{0, 8, 16, 400, 408}, []evidence.Run{{First: 0, Step: 8, N: 3}, {First: 400, Step: 8, N: 2}}},
		{[]int64{9, 8, 7}, []evidence.Run{{First: 9, Step: 1, N: 1}, {First: 8, Step: 1, N: 1}, {First: 7, Step: 1, N: 1}}},
		{[]int64{5, 5}, []evidence.Run{{First: 5, Step: 1, N: 1}, {First: 5, Step: 1, N: 1}}},
		{[]int64{0, math.MaxInt64}, []evidence.Run{{First: 0, Step: math.MaxInt64, N: 2}}},
	} {
		got, err := batch(tt.ids, len(tt.ids))
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%v: %v, %v, want %v", tt.ids, got, err, tt.want)
		}
	}
	for _, ids := range [][]int64{{1}, {1, 2, 3}, {1, -2}, {}} {
		if got, err := batch(ids, 2); !errors.Is(err, errWrong) || got != nil {
			t.Errorf("%v of 2: %v, %v", ids, got, err)
		}
	}
}

// Whatever the IDs are, the runs are the same IDs in the same order.
func TestBatchKeepsEveryID(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ids []int64
		for len(ids) < 50 {
			first := rapid.Int64Range(0, math.MaxInt64-1000).Draw(t, "first")
			step := rapid.Int64Range(1, 4).Draw(t, "step")
			for i := range rapid.Int64Range(1, 20).Draw(t, "n") {
				ids = append(ids, first+i*step)
			}
		}
		runs, err := batch(ids, len(ids))
		if err != nil {
			t.Fatal(err)
		}
		if got := expand(runs); !slices.Equal(got, ids) {
			t.Fatalf("%v became %v", ids, got)
		}
	})
}

func expand(runs []evidence.Run) []int64 {
	var ids []int64
	for _, r := range runs {
		for i := range int64(r.N) {
			ids = append(ids, r.First+i*r.Step)
		}
	}
	return ids
}

func TestInRuns(t *testing.T) {
	pairs := []wire.Pair{{First: 100, N: 3}, {First: 50, N: 2}}
	got, err := inRuns(pairs, 4, 5)
	if want := []evidence.Run{{First: 100, Step: 4, N: 3}, {First: 50, Step: 4, N: 2}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	if got, err := inRuns(pairs, 4, 6); !errors.Is(err, errWrong) || got != nil {
		t.Errorf("%v, %v", got, err)
	}
}
