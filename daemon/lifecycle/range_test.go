package lifecycle_test

import (
	"testing"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// A journal whose worker ID is outside of the range that the daemon was told is nothing to start
// from: its cluster was made without the range, and another generator has the worker ID.
func TestNoStartFromAGrantOutsideOfTheRange(t *testing.T) {
	for ids, want := range map[coord.WorkerRange][2]bool{
		{}:                   {true, true},
		{First: 7, Count: 2}: {true, true},
		{First: 8, Count: 9}: {false, true},
		{First: 0, Count: 7}: {false, false},
	} {
		clock := &hands{}
		path, _ := written(t, clock, mustLayout(t))
		dir := must.Get(journal.OpenDir(path, one))(t)
		l, _, _ := lanes(t, clock, &office{})
		l.Range = ids
		inherited := must.Get(l.Inherit(dir))(t)
		for lane := range want {
			if got := inherited[lane] != nil; got != want[lane] {
				t.Errorf("worker ID %d and the range %v: to start from is %v, want %v", 7+lane, ids, got, want[lane])
			}
		}
		must.Do(t, dir.Close())
	}
}

// A journal that begins below the tick that the daemon was told is nothing to start from, and
// nothing to go on from: its cluster was made without it, and another generator issued there.
func TestNoStartFromAMarkBelowTheTickToBeginAbove(t *testing.T) {
	for _, test := range []struct {
		above generator.Tick // from the journal's mark on
		last  generator.Tick // that was handed over, likewise
		start bool           // from the journal
		goOn  bool           // from what was handed over
	}{
		{above: -10, last: -5, start: true, goOn: true},
		{above: -5, last: -5, start: true, goOn: true},
		{above: -4, last: -5, start: true},
		{above: 0, last: -5, start: true},
		{above: 1, last: -5},
		{above: 1 << 20, last: -5},
	} {
		clock := &hands{}
		path, mark := written(t, clock, mustLayout(t))
		dir := must.Get(journal.OpenDir(path, one))(t)
		l, _, issuer := lanes(t, clock, &office{})
		l.Above = mark + test.above
		inherited := must.Get(l.Inherit(dir))(t)
		var handed []grant.Handed
		for lane, c := range inherited {
			if got := c != nil; got != test.start {
				t.Errorf("%+v: to start from is %v", test, got)
			}
			handed = append(handed, grant.Handed{Worker: 7 + lane, Opening: "opening", Last: mark + test.last, Granted: mark + 60_000})
		}
		l.TakeOver(inherited, handed)
		if got := len(issuer.lanes) == len(handed); got != test.goOn || !got && len(issuer.lanes) != 0 {
			t.Errorf("%+v: %d of %d lanes go on", test, len(issuer.lanes), len(handed))
		}
		must.Do(t, dir.Close())
	}
}
