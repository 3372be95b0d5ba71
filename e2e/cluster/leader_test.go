package cluster

import (
	"fmt"
	"testing"
	"time"

	"github.com/flakeward/flakeward/generator"
)

// TestLeaderKilled kills the leader of three servers again and again, under load. A change of the
// leader prolongs sessions, also that of a daemon that is dead; when the servers have come to rest,
// its worker ID is another's all the same.
func TestLeaderKilled(t *testing.T) {
	on(t, 3, func(w *testCluster) {
		c := w.config("victim")
		c.Grant.Window = 2 * time.Second
		c.Cluster.TTL = sessionTTL
		victim := w.spawn(c)
		victim.must(100)
		dead, ceiling := victim.holds(), victim.granted()
		var nodes []*node
		var loads []*stream
		var workers []int
		for i := range 3 {
			n := w.start(w.config(fmt.Sprintf("serves%d", i)))
			n.must(1)
			nodes, loads, workers = append(nodes, n), append(loads, n.stream(rate())), append(workers, n.holds())
		}
		for _, l := range loads {
			l.await(rate() / 10)
			l.LongestGap()
		}
		before := nodes[0].granted()
		victim.kill()
		kills, begun := w.killLeaders(loads)
		took := time.Since(begun)
		var worst time.Duration
		ids := 0
		for i, l := range loads {
			l.await(rate() / 10)
			worst = max(worst, l.LongestGap())
			ids += l.finish()
			w.soon("no condition", func() bool { return nodes[i].info()["condition"] == "" })
			if got := nodes[i].holds(); got != workers[i] {
				w.Errorf("%s had worker ID %d and has %d", nodes[i].config.Host, workers[i], got)
			}
			nodes[i].must(100)
		}
		w.figure("%d leaders killed in %v, one each %v: %d daemons issued %d IDs at %d/s each, none refused, longest gap between answers %v; a grant rose by %v",
			kills, took.Round(time.Millisecond), (took / time.Duration(kills)).Round(time.Millisecond), len(nodes), ids, rate(), worst.Round(time.Millisecond),
			time.Duration(nodes[0].granted()-before)*w.layout.TickLength())
		w.soon("the end of the session of a daemon that is dead", func() bool { return w.holder(dead) == nil })
		w.figure("the session of a daemon that died before the first of them had ended %v after the last one", (time.Since(begun) - took).Round(time.Millisecond))
		w.soon("the end of its grant", func() bool { return w.tick() > ceiling+generator.Tick(2*time.Second/w.layout.TickLength()) })
		successor := w.start(w.config("victim"))
		successor.must(100)
		if got := successor.holds(); got != dead {
			w.Errorf("worker ID %d of a dead daemon was not taken over; its host's next daemon holds %d", dead, got)
		}
	})
}

// killLeaders kills leaders: each half of a session's life for a minute, or a few, each after some
// more IDs.
func (w *testCluster) killLeaders(loads []*stream) (kills int, begun time.Time) {
	w.Helper()
	begun = time.Now()
	ticker := time.NewTicker(sessionTTL / 2)
	defer ticker.Stop()
	for more := true; more; {
		leader := -1
		w.soon("a leader", func() bool { leader = w.leader(); return leader >= 0 })
		w.kill(leader)
		kills++
		w.soon("another leader", func() bool { return w.leader() >= 0 })
		if *long {
			w.revive(leader)
			<-ticker.C
			more = time.Since(begun) < time.Minute
			continue
		}
		for _, l := range loads {
			l.await(rate() / 2)
		}
		w.revive(leader)
		more = kills < 3
	}
	return kills, begun
}
