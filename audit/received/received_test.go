package received_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/flakeward/flakeward/audit/received"
)

func TestDuplicatesAreCountedExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfDistinct(rapid.Int64Min(0), func(id int64) int64 { return id }).Draw(t, "ids")
		repeated := map[int64]bool{}
		all := slices.Clone(ids)
		var planted uint64
		if len(ids) > 0 {
			for range rapid.IntRange(0, 9).Draw(t, "planted") {
				id := rapid.SampledFrom(ids).Draw(t, "again")
				all = append(all, id)
				repeated[id] = true
				planted++
			}
		}
		rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		got := received.FindDuplicates(slices.Clone(all))
		if got.IDs != uint64(len(all)) || got.Repeated != planted {
			t.Fatalf("found %d of %d planted repetitions among %d of %d IDs", got.Repeated, planted, got.IDs, len(all))
		}
		if len(got.Examples) != len(repeated) {
			t.Fatalf("examples %v, want those of %v", got.Examples, repeated)
		}
		for _, id := range got.Examples {
			if !repeated[id] {
				t.Fatalf("example %d was not repeated", id)
			}
		}
	})
}
