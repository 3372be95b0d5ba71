package cluster

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/coord"
)

// TestExplain draws from all IDs that 20 daemons have issued in 5 generations, in which worker IDs changed hands, and asks the
// coordinator whose each was.
func TestExplain(t *testing.T) {
	on(t, 1, func(w *world) {
		const daemons, generations, asked = 20, 5, 1000
		w.setLayout("time=41@1ms,worker=5,sequence=12;epoch=2026-01-01")
		type owner struct{ host, incarnation string }
		owners := map[int64]owner{}
		holders := map[int]map[string]bool{}
		for g := range generations {
			var nodes []*node
			for i := range daemons {
				host := fmt.Sprintf("h%d", i) // the same hosts again, or others
				if g%2 == 1 {
					host = fmt.Sprintf("g%d-h%d", g, i)
				}
				nodes = append(nodes, w.launch(w.calm(host)))
			}
			for _, n := range nodes {
				n.untilReady()
				worker := n.holds()
				if holders[worker] == nil {
					holders[worker] = map[string]bool{}
				}
				who := owner{n.config.Host, n.info()["incarnation"]}
				holders[worker][who.incarnation] = true
				for _, id := range n.must(1 + rand.IntN(200)) {
					owners[id] = who
				}
			}
			several(nodes, (*node).stop)
		}
		o := w.operate()
		ids := slices.Collect(maps.Keys(owners))
		rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		wrong := 0
		for _, id := range ids[:asked] {
			parts, err := w.layout.Decompose(id)
			if err != nil {
				w.Fatal(err)
			}
			history, err := o.History(w.Context(), int(parts.Worker))
			if err != nil {
				w.Fatal(err)
			}
			var held coord.Tenure
			for _, entry := range history {
				if entry.From < parts.Tick {
					held = entry
				}
			}
			// Claims and INFO write the incarnation in different ways.
			if want := owners[id]; held.Host != want.host || held.Incarnation != plain(want.incarnation) {
				if wrong++; wrong < 5 {
					w.Errorf("ID %d, tick %d of worker ID %d, was issued by %+v; the history says %+v of %+v", id, parts.Tick, parts.Worker, want, held, history)
				}
			}
		}
		most := 0
		for _, h := range holders {
			most = max(most, len(h))
		}
		w.figure("%d of %d IDs asked for named the wrong daemon; %d issued, worker IDs had up to %d holders", wrong, asked, len(ids), most)
		if most < 2 {
			w.Error("no worker ID changed hands; the drill is void")
		}
	})
}

// plain is an incarnation without what groups its digits.
func plain(s string) string { return strings.ReplaceAll(s, "-", "") }
