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
			if e.From < 0 || i > 0 && e.From < list[i-1].From {
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

// holder returns the opening that may have issued the tick; empty if that is not
// known.
func holder(list []interval, tick generator.Tick) string {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].From < tick {
			return list[i].Opening
		}
	}
	return ""
}

// Openings follow one another in every way that the protocol allows, and some issue:
// of each tick that was issued, the history names the opening, or nobody if its entry
// was cut or if it was lost with a backup.
func TestHistoryNamesWhoIssued(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		up := func(name string) generator.Tick { return generator.Tick(rapid.Int64Range(0, 4).Draw(t, name)) }
		bound := rapid.IntRange(1, 4).Draw(t, "bound")
		c := &Coordinator{history: bound, identity: coord.Identity{Incarnation: "x"}}
		j := &cluster{era: ""}
		issued := map[generator.Tick]string{} // by which opening; "" if that was lost
		var r record
		stored := Entry{}
		var from, mark generator.Tick
		for i := range rapid.IntRange(1, 12).Draw(t, "openings") {
			opening := string(rune('A' + i))
			if rapid.IntRange(0, 4).Draw(t, "restored") == 0 {
				// Somebody issued above the ceiling, which nothing is known of.
				to := r.Ceiling + up("lost")
				for tick := r.Ceiling + 1; tick <= to; tick++ {
					issued[tick] = ""
				}
				j = &cluster{era: opening, floor: max(j.floor, to)}
			}
			request := coord.Request{}
			if rapid.Bool().Draw(t, "continues") {
				request = coord.Request{Opening: r.Holder, Mark: mark}
			}
			continues := j.continues(r, request)
			from = j.floorFor(r, request)
			n := owned{Created: Created{Node: Node{Name: "claim"}, History: stored}, cluster: j, record: r}
			stored = (&pending{c: c, node: n}).history(opening, from)
			stored.Version = int64(i + 1)
			r.Ceiling, r.Holder, r.Era = j.ceiling(r), opening, j.era
			if !continues {
				mark = from
			}
			// It grants, and issues in the grant, up to its mark.
			r.Ceiling += up("grant")
			mark = min(mark+up("mark"), r.Ceiling)
			for tick := from + 1; tick <= mark; tick++ {
				if by, ok := issued[tick]; ok {
					t.Fatalf("the test is wrong: %s issues tick %d after %q", opening, tick, by)
				}
				issued[tick] = opening
			}
			if rapid.Bool().Draw(t, "released") {
				r.Ceiling = max(mark, j.floor)
				mark = r.Ceiling
			}
		}
		list, err := decodeHistory(stored.Value)
		if err != nil || len(list) > bound {
			t.Fatalf("%d entries, bound %d: %v", len(list), bound, err)
		}
		for tick, by := range issued {
			got := holder(list, tick)
			if got != by && (got != "" || tick > list[0].From) {
				t.Fatalf("tick %d was issued by %q, the history says %q: %+v", tick, by, got, list)
			}
		}
	})
}
