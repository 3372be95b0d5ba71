package cluster

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/flakeward/flakeward/daemon"
)

// TestHole6RacingFirstBoots starts 64 daemons at once where there is nothing yet: elsewhere, all of
// them got worker ID 0. Here each gets one of its own, in one cluster.
func TestHole6RacingFirstBoots(t *testing.T) {
	on(t, 1, func(w *testCluster) {
		daemons := crowd(64)
		var nodes []*node
		for i := range daemons {
			nodes = append(nodes, w.launch(w.calm(fmt.Sprintf("boot%d", i))))
		}
		var all sync.WaitGroup
		for _, n := range nodes {
			all.Go(func() {
				n.untilReady()
				n.must(100)
			})
		}
		workers, clusters := map[int]string{}, map[string]bool{}
		for _, n := range nodes {
			n.untilReady()
			info := n.info()
			clusters[info["cluster_id"]] = true
			worker := n.holds()
			if other, taken := workers[worker]; taken {
				w.Errorf("worker ID %d is held by %s and %s", worker, other, n.config.Host)
			}
			workers[worker] = n.config.Host
		}
		all.Wait()
		// Each proposed a UUID of its own for the cluster record.
		if len(workers) != daemons || len(clusters) != 1 {
			w.Errorf("%d daemons hold %d worker IDs of %d clusters", daemons, len(workers), len(clusters))
		}
		// A claim that was given up without an answer goes with a later publish of its daemon.
		w.soon(fmt.Sprintf("%d members and no more", daemons), func() bool { return len(w.members()) == daemons })
		slowest := nodes[0]
		for _, n := range nodes {
			if n.took > slowest.took {
				slowest = n
			}
		}
		w.figure("%d daemons started at once hold %d worker IDs of %d cluster; the last was ready after %v", daemons, len(workers), len(clusters), slowest.took)
	})
}

// TestHole3SameHostNameAndPid runs daemons that are told apart by nothing that a container would
// tell: one host name, one pid. Elsewhere they got one worker ID. Here the host's name is a wish
// for the worker ID that it had last, and nobody is robbed of one for it.
func TestHole3SameHostNameAndPid(t *testing.T) {
	on(t, 1, func(w *testCluster) {
		const daemons, name = 8, "172.17.0.2"
		// What an expired session's daemon claims anew is no robbery, so none expires on a busy machine.
		config := func() daemon.Config {
			c := w.config(name)
			c.Cluster.TTL = time.Minute
			return c
		}
		nodes := []*node{w.start(config())}
		openings := map[*node]string{nodes[0]: nodes[0].info()["opening"]}
		for range daemons - 1 {
			nodes = append(nodes, w.launch(config()))
		}
		workers, incarnations := map[int]bool{}, map[string]bool{}
		for _, n := range nodes {
			n.untilReady()
			n.must(100)
			workers[n.holds()] = true
			info := n.info()
			incarnations[info["incarnation"]] = true
			if openings[n] == "" {
				openings[n] = info["opening"]
			}
		}
		members := w.members()
		for _, m := range members {
			if m.Host != name || m.PID != members[0].PID {
				w.Errorf("%+v: the drill is void, the hosts can be told apart", m)
			}
		}
		if len(workers) != daemons || len(incarnations) != daemons || len(members) != daemons {
			w.Errorf("%d daemons on hosts of one name hold %d worker IDs under %d names, and %d are listed", daemons, len(workers), len(incarnations), len(members))
		}
		// A stopped one gets back what it had. One more asks for what its host had last, which is
		// another's.
		nodes[0].stop()
		nodes[0] = w.start(nodes[0].config)
		openings[nodes[0]] = nodes[0].info()["opening"]
		nodes = append(nodes, w.start(config()))
		for _, n := range nodes {
			was := n.granted()
			w.soon("another grant", func() bool { return n.granted() > was })
			n.must(100)
			for _, m := range w.members() {
				if m.Worker == n.holds() && m.Opening != n.info()["opening"] {
					w.Errorf("worker ID %d is held by %s, and another daemon issues from it", n.holds(), m.Incarnation)
				}
			}
			if was := openings[n]; was != "" && n.info()["opening"] != was {
				w.Errorf("a daemon was robbed of worker ID %d", n.holds())
			}
		}
	})
}
