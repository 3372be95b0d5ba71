package life_test

import (
	"testing"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/journal"
)

// A journal whose worker ID is outside of the range that the daemon was told is nothing to start from:
// its cluster was made without the range, and another generator has the worker ID.
func TestNoStartFromAGrantOutsideOfTheRange(t *testing.T) {
	for ids, want := range map[coord.WorkerRange][2]bool{
		{}:                   {true, true},
		{First: 7, Count: 2}: {true, true},
		{First: 8, Count: 9}: {false, true},
		{First: 0, Count: 7}: {false, false},
	} {
		clock := &hands{}
		path, _ := written(t, clock, mustLayout(t))
		dir, err := journal.OpenDir(path, one)
		if err != nil {
			t.Fatal(err)
		}
		l, _, _ := lanes(t, clock, &office{})
		l.Range = ids
		inherited, err := l.Inherit(dir)
		if err != nil {
			t.Fatal(err)
		}
		for lane := range want {
			if got := inherited[lane] != nil; got != want[lane] {
				t.Errorf("worker ID %d and the range %v: to start from is %v, want %v", 7+lane, ids, got, want[lane])
			}
		}
		if err := dir.Close(); err != nil {
			t.Error(err)
		}
	}
}
