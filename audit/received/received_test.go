package received_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/flakeward/flakeward/audit/received"
	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/generator"
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

// TestHost plants each violation by itself into two lives that are otherwise in order.
func TestHost(t *testing.T) {
	layout, err := generator.ParseLayout("flakeward")
	if err != nil {
		t.Fatal(err)
	}
	id := func(worker uint64, tick generator.Tick, sequence uint64) int64 {
		n, err := layout.Compose(generator.Parts{Tick: tick, Worker: worker, Sequence: sequence})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	entry := func(worker int, mark, ceiling generator.Tick) journal.Entry {
		return journal.Entry{Worker: worker, Opening: "o", Mark: mark, Ceiling: ceiling}
	}
	first := received.Life{
		Connections: [][]int64{{id(3, 100, 0), id(3, 100, 1)}, {id(3, 100, 2), id(3, 110, 0)}},
		Steady:      true,
		Journal:     []journal.Entry{entry(3, 110, 500)},
	}
	tests := []struct {
		name   string
		second received.Life
		want   received.Verdict
	}{
		{"in order", received.Life{
			Connections: [][]int64{{id(3, 111, 0), id(9, 50, 0), id(3, 112, 0)}},
			Journal:     []journal.Entry{entry(3, 112, 112)},
		}, received.Verdict{IDs: 3, Marked: 2}},
		{"nothing received, nothing granted", received.Life{
			Steady: true, Journal: []journal.Entry{entry(3, 110, 0)},
		}, received.Verdict{}},
		{"above the mark", received.Life{
			Connections: [][]int64{{id(3, 111, 0), id(3, 112, 0), id(3, 113, 0)}}, Steady: true,
			Journal: []journal.Entry{entry(3, 111, 500)},
		}, received.Verdict{IDs: 3, Marked: 3, AboveMark: 2}},
		{"the mark above the grant", received.Life{
			Journal: []journal.Entry{entry(3, 501, 500)},
		}, received.Verdict{AboveGrant: 1}},
		{"the mark below an earlier life", received.Life{
			Journal: []journal.Entry{entry(3, 109, 500)},
		}, received.Verdict{MarksLowered: 1}},
		{"a tick of an earlier life", received.Life{
			Connections: [][]int64{{id(3, 110, 9)}}, Journal: []journal.Entry{entry(4, 0, 0)},
		}, received.Verdict{IDs: 1, TicksShared: 1}},
		{"below an earlier life", received.Life{
			Connections: [][]int64{{id(3, 105, 0)}}, Steady: true, Journal: []journal.Entry{entry(3, 110, 500)},
		}, received.Verdict{IDs: 1, Marked: 1, Lowered: 1}},
		{"below an earlier life, in a gap", received.Life{
			Connections: [][]int64{{id(3, 50, 0)}}, Steady: true, Journal: []journal.Entry{{Worker: 3, Opening: "o", Mark: 60, Ceiling: 90, Until: 99}},
		}, received.Verdict{IDs: 1, Marked: 1}},
		{"above the mark, in a gap", received.Life{
			Connections: [][]int64{{id(3, 200, 0), id(3, 61, 0), id(3, 60, 0)}},
			Journal:     []journal.Entry{{Worker: 3, Opening: "o", Mark: 60, Ceiling: 90, Until: 99}},
		}, received.Verdict{IDs: 3, Marked: 3, AboveMark: 1}},
		{"below an earlier life, before the clock was stepped", received.Life{
			Connections: [][]int64{{id(3, 50, 0)}}, Journal: []journal.Entry{entry(3, 110, 500)},
		}, received.Verdict{IDs: 1, Marked: 1}},
		{"down on one connection", received.Life{
			Connections: [][]int64{{id(3, 200, 5)}, {id(3, 200, 4), id(3, 200, 4), id(3, 150, 0)}}, Steady: true,
			Journal: []journal.Entry{entry(3, 200, 500)},
		}, received.Verdict{IDs: 4, Marked: 4, Descents: 2}},
		{"down, but the clock was stepped", received.Life{
			Connections: [][]int64{{id(3, 200, 5), id(3, 150, 0)}},
			Journal:     []journal.Entry{entry(3, 200, 500)},
		}, received.Verdict{IDs: 2, Marked: 2}},
		{"no ID at all", received.Life{
			Connections: [][]int64{{-1}}, Steady: true,
		}, received.Verdict{IDs: 1, Undecodable: 1}},
		{"a worker ID that the layout does not have", received.Life{
			Journal: []journal.Entry{entry(1024, 110, 500)},
		}, received.Verdict{Undecodable: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			host := received.NewHost(layout)
			if v := host.Judge(first); v.Bad() != 0 || v.IDs != 4 || v.Marked != 4 {
				t.Fatalf("the first life: %+v", v)
			}
			got := host.Judge(tt.second)
			if (got.Bad() > 0) != (len(got.Examples) > 0) {
				t.Errorf("%d violations with examples %q", got.Bad(), got.Examples)
			}
			if n := host.Workers(); tt.name == "in order" && n != 2 || n == 0 {
				t.Errorf("%d worker IDs were counted", n)
			}
			examples := got.Examples
			got.Examples = nil
			if !equal(got, tt.want) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
			var sum received.Verdict
			sum.Add(got)
			sum.Add(received.Verdict{Examples: examples})
			if !slices.Equal(sum.Examples, examples) {
				t.Errorf("added up, the examples are %q, want %q", sum.Examples, examples)
			}
			sum.Examples = nil
			if !equal(sum, got) {
				t.Errorf("added up, the verdict is %+v, want %+v", sum, got)
			}
		})
	}
}

func equal(a, b received.Verdict) bool {
	return a.IDs == b.IDs && a.Marked == b.Marked && a.AboveMark == b.AboveMark && a.AboveGrant == b.AboveGrant &&
		a.MarksLowered == b.MarksLowered && a.TicksShared == b.TicksShared && a.Lowered == b.Lowered && a.Descents == b.Descents && a.Undecodable == b.Undecodable
}
