package claims

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

func FuzzDecodeHistory(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := decodeHistory(b)
		if err != nil {
			if list != nil {
				t.Errorf("%q: error %v together with %+v", b, err, list)
			}
			return
		}
		for i, e := range list {
			if e.From < 0 || i > 0 && e.From <= list[i-1].From {
				t.Errorf("%q was taken as %+v", b, list)
			}
		}
		if again, err := decodeHistory(encode(list)); err != nil || !slices.Equal(again, list) {
			t.Errorf("%+v encodes to %+v, %v", list, again, err)
		}
		if next := follow(list, interval{From: 7}); next[len(next)-1].From != 7 || len(next) > len(list)+1 {
			t.Errorf("%+v is followed by %+v", list, next)
		}
	})
}

// holder returns the opening that may have issued the tick; empty if that is not known.
func holder(list []interval, tick generator.Tick) string {
	for i := len(list) - 1; i >= 0; i-- {
		if tick > list[i].From {
			return list[i].Opening
		}
	}
	return ""
}

// Openings follow one another in every way that the protocol allows, and some issue: no tick is
// issued by two of them, and of each that was issued the history names the opening, or nobody if
// its entry was cut or if it was lost with a backup.
func TestOpeningsIssueApartAndHistoryNamesThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		up := func(name string) generator.Tick { return generator.Tick(rapid.Int64Range(0, 4).Draw(t, name)) }
		bound := rapid.IntRange(1, 4).Draw(t, "bound")
		c := &Coordinator{historyBound: bound, identity: coord.Identity{Incarnation: "x"}}
		j := &cluster{}
		issued := map[generator.Tick]string{} // by which opening; "" if that was lost
		issue := func(tick generator.Tick, by string) {
			if before, ok := issued[tick]; ok {
				t.Fatalf("%q issues tick %d after %q", by, tick, before)
			}
			issued[tick] = by
		}
		var r record
		stored := Entry{}
		cut := false // the oldest entries may be gone
		for i := range rapid.IntRange(1, 20).Draw(t, "openings") {
			name := string(rune('A' + i))
			if rapid.IntRange(0, 9).Draw(t, "restored") == 0 {
				// Somebody issued what the record has free, which nothing is known of.
				to := r.Ceiling + up("lost")
				for tick := max(1, j.floor+1); tick <= to; tick++ {
					if tick > r.Ceiling && rapid.Bool().Draw(t, "lost tick") {
						issue(tick, "")
					}
				}
				j = &cluster{epoch: name, floor: max(j.floor, to)}
			}
			opening := coord.OpeningID(name, j.epoch)
			before := r
			r = j.opening(r)
			from := r.Ceiling
			r.Holder, r.Claim, r.Nonce = opening, "claim", "nonce"
			if r.Ceiling < before.Ceiling || r.Ceiling < j.floor {
				t.Fatalf("%+v, opened as %+v: a tick is free that was granted", before, r)
			}
			stored = c.nextHistory(j, 0, stored, before, c.interval(r, 0))
			stored.Version = int64(i + 1)
			if kept, _ := decodeHistory(stored.Value); len(kept) == bound {
				cut = true
			}
			// It grants, and issues in the grant, up to a mark.
			mark := from
			for range rapid.IntRange(0, 2).Draw(t, "extends") {
				r.Ceiling += up("grant")
				mark = max(mark, min(mark+up("mark"), r.Ceiling))
			}
			for tick := from + 1; tick <= mark; tick++ {
				issue(tick, opening)
			}
			if rapid.Bool().Draw(t, "released") {
				r.Ceiling = mark
			}
		}
		list, err := decodeHistory(stored.Value)
		if err != nil || len(list) > bound {
			t.Fatalf("%d entries, bound %d: %v", len(list), bound, err)
		}
		for tick, by := range issued {
			got := holder(list, tick)
			if got != by && (got != "" || !cut) {
				t.Fatalf("tick %d was issued by %q, the history says %q: %+v", tick, by, got, list)
			}
		}
	})
}
