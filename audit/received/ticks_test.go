package received

import (
	"strings"
	"testing"

	"github.com/flakeward/flakeward/generator"
)

func TestFindSharedTicks(t *testing.T) {
	layout, err := generator.ParseLayout("flakeward")
	if err != nil {
		t.Fatal(err)
	}
	id := func(worker uint64, tick generator.Tick, sequence uint64) int64 {
		id, err := layout.Compose(generator.Parts{Worker: worker, Tick: tick, Sequence: sequence})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	sound := map[string][]int64{
		"a": {id(1, 10, 0), id(1, 10, 1), id(1, 11, 0), id(2, 10, 0)},
		"b": {id(1, 12, 0), id(3, 10, 0), id(1, 12, 0)}, // of one life, twice: for FindDuplicates
		"c": nil,
	}
	if got := FindSharedTicks(layout, sound); got.IDs != 7 || got.Shared != 0 || got.Undecodable != 0 || got.Examples != nil {
		t.Errorf("%+v", got)
	}
	// Another sequence number in the same tick is no duplicate, and is shared all the same.
	shared := map[string][]int64{"a": sound["a"], "b": {id(1, 11, 7), -1}}
	got := FindSharedTicks(layout, shared)
	if got.IDs != 6 || got.Shared != 1 || got.Undecodable != 1 || len(got.Examples) != 2 {
		t.Fatalf("%+v", got)
	}
	if want := "tick 11 of worker ID 1 was issued from by a and by b"; got.Examples[1] != want || !strings.HasPrefix(got.Examples[0], "-1, of b,") {
		t.Errorf("%q", got.Examples)
	}
}
