package cluster

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

// TestSticky stops 100 daemons and starts them again, in random order: each gets its own worker ID
// back, and waits for nothing.
func TestSticky(t *testing.T) {
	on(t, 1, func(w *testCluster) {
		daemons := crowd(100)
		var nodes []*node
		for i := range daemons {
			nodes = append(nodes, w.launch(w.calm(fmt.Sprintf("sticky%d", i))))
		}
		worker := map[string]int{}
		for _, n := range nodes {
			n.untilReady()
			n.must(10)
			worker[n.config.Host] = n.holds()
		}
		var took []time.Duration
		rounds := 1
		if *long {
			rounds = 3
		}
		for range rounds {
			rand.Shuffle(daemons, func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
			several(nodes, func(n *node) {
				n.must(10)
				n.stop()
			})
			rand.Shuffle(daemons, func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
			var mu sync.Mutex
			var again []*node
			several(nodes, func(old *node) {
				before := w.tick()
				n := w.start(old.config)
				got := n.info()
				if n.holds() != worker[n.config.Host] {
					w.Errorf("%s had worker ID %d and got %s", n.config.Host, worker[n.config.Host], got["worker_id"])
				}
				// What it may issue from was past before it was even started.
				if floor := n.number("floor"); floor > int64(before) {
					w.Errorf("%s had to wait for its floor %d, at tick %d", n.config.Host, floor, before)
				}
				n.must(10)
				mu.Lock()
				again = append(again, n)
				took = append(took, n.took)
				mu.Unlock()
			})
			nodes = again
		}
		slices.Sort(took)
		w.figure("%d clean restarts, each with its own worker ID and a floor that was past: ready after %v (median), %v (longest)",
			len(took), took[len(took)/2].Round(time.Microsecond), took[len(took)-1].Round(time.Microsecond))
	})
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
