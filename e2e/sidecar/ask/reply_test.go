package ask

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/flakeward/flakeward/audit/evidence"
)

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
