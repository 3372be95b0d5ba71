package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// owner is who handed out an ID.
type owner struct{ Host, Incarnation, Claim string }

// TestExplain draws from all IDs that 20 daemons have issued in 5 generations, in which worker IDs
// changed hands, and asks the program whose each was.
func TestExplain(t *testing.T) {
	on(t, 1, func(w *testCluster) {
		const daemons, generations, asked = 20, 5, 1000
		w.setLayout("time=41@1ms,worker=5,sequence=12;epoch=2026-01-01")
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
				worker, who := n.holds(), n.owner()
				ids := n.must(1 + rand.IntN(200))
				if n.owner() != who {
					continue // it lost its claim meanwhile: which of the two the IDs are of is not known
				}
				if holders[worker] == nil {
					holders[worker] = map[string]bool{}
				}
				holders[worker][who.Claim] = true
				for _, id := range ids {
					owners[id] = who
				}
			}
			several(nodes, (*node).stop)
		}
		ids := slices.Collect(maps.Keys(owners))
		rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		ids = ids[:asked]
		wrong := 0
		for i, got := range w.explain(ids) {
			if want := owners[ids[i]]; got != want {
				if wrong++; wrong < 5 {
					w.Errorf("ID %d was issued by %+v; explain says %+v", ids[i], want, got)
				}
			}
		}
		most := 0
		for _, h := range holders {
			most = max(most, len(h))
		}
		w.figure("%d of %d IDs asked for named the wrong daemon; %d issued, worker IDs had up to %d holders", wrong, asked, len(owners), most)
		if most < 2 {
			w.Error("no worker ID changed hands; the drill is void")
		}
	})
}

// owner is what the daemon says of itself. Claims and INFO write the incarnation in different ways.
func (n *node) owner() owner {
	n.w.Helper()
	info := n.info()
	return owner{n.config.Host, strings.ReplaceAll(info["incarnation"], "-", ""), info["claim"]}
}

// explain has the program explain the IDs, all of which somebody issued.
func (w *testCluster) explain(ids []int64) []owner {
	w.Helper()
	var in bytes.Buffer
	for _, id := range ids {
		fmt.Fprintln(&in, id)
	}
	out := w.flakeward(&in, "explain", "--json", "--coord", w.url, "--timeout", timeout.String(), "-")
	var owners []owner
	for line := range strings.Lines(out) {
		var of struct {
			ID string
			owner
		}
		if err := json.Unmarshal([]byte(line), &of); err != nil {
			w.Fatalf("explain printed %q: %v", line, err)
		}
		if i := len(owners); i >= len(ids) || of.ID != strconv.FormatInt(ids[i], 10) {
			w.Fatalf("line %d of explain's is of %s, out of turn", i+1, of.ID)
		}
		owners = append(owners, of.owner)
	}
	if len(owners) != len(ids) {
		w.Fatalf("explain printed %d lines for %d IDs", len(owners), len(ids))
	}
	return owners
}

// several does something with each node, a few at a time.
func several(nodes []*node, do func(*node)) {
	next := make(chan *node, len(nodes))
	for _, n := range nodes {
		next <- n
	}
	close(next)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for n := range next {
				do(n)
			}
		})
	}
	all.Wait()
}
