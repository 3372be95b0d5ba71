package cluster

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord"
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
		// One that lost its disk asks for what its host had last, which is another's; one that was
		// stopped and started again does not.
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

// TestDisagreement starts daemons that do not fit into the cluster.
func TestDisagreement(t *testing.T) {
	on(t, 1, func(w *testCluster) {
		first := w.start(w.config("first"))
		ours := w.coordLayout().Text
		for _, wrong := range []struct {
			what   string
			change func(*daemon.Config)
		}{
			{"layout", func(c *daemon.Config) { c.IDs.Layout = "twitter" }},
			{"epoch", func(c *daemon.Config) { c.IDs.Layout = "flakeward;epoch=2026-01-02" }},
			{"datacenter", func(c *daemon.Config) {
				c.IDs.Layout, c.IDs.Datacenter = "twitter", 7
			}},
		} {
			c := w.config(wrong.what)
			wrong.change(&c)
			n := w.launch(c)
			err := n.end()
			var layout *coord.LayoutError
			if !errors.As(err, &layout) {
				w.Errorf("another %s: the daemon ended with %v, want a LayoutError", wrong.what, err)
				continue
			}
			if layout.Cluster != ours || layout.Ours == ours || !contains(err.Error(), layout.Cluster, layout.Ours) {
				w.Errorf("another %s: %v; want both, the cluster's is %s", wrong.what, err, ours)
			}
			w.Logf("another %s: %v", wrong.what, err)
		}
		// The datacenter alone.
		w.setLayout("twitter")
		w.url = w.urlOf(w.addresses(), "other")
		dc := w.start(w.config("dc0"))
		c := w.config("dc7")
		c.IDs.Datacenter = 7
		if err := w.launch(c).end(); err == nil || !contains(err.Error(), ";datacenter=0", ";datacenter=7") {
			w.Errorf("another datacenter: %v", err)
		}
		dc.must(1)
		first.client.close()
		if text := first.refusal(); text != "" {
			w.Errorf("the first daemon does not serve: %s", text)
		}
		w.lives = map[string][]int64{} // of two layouts
	})
}

// TestWorkerIDsUsedUp starts more daemons than there are worker IDs.
func TestWorkerIDsUsedUp(t *testing.T) {
	on(t, 1, func(w *testCluster) {
		workers := crowd(64)
		daemons := workers + 6
		w.setLayout(fmt.Sprintf("time=41@1ms,worker=%d,sequence=16;epoch=2026-01-01", bits.Len(uint(workers-1))))
		var nodes []*node
		for i := range daemons {
			c := w.calm(fmt.Sprintf("full%d", i))
			c.Waiting.MaxBlock = 100 * time.Millisecond
			nodes = append(nodes, w.launch(c))
		}
		var serving, waiting []*node
		ready := func(n *node) bool {
			select {
			case <-n.ready:
				return true
			default:
				return false
			}
		}
		w.soon("a daemon that serves for each worker ID", func() bool {
			serving, waiting = nil, nil
			for _, n := range nodes {
				if ready(n) {
					serving = append(serving, n)
				} else {
					waiting = append(waiting, n)
				}
			}
			return len(serving) == workers
		})
		held := map[int]bool{}
		for _, n := range serving {
			// That many journals on one slow disk may keep a request waiting longer than this --max-block.
			w.soon("an ID of each that serves", func() bool { return n.refusal() == "" })
			held[n.holds()] = true
		}
		if len(held) != workers {
			w.Errorf("%d daemons serve from %d worker IDs", len(serving), len(held))
		}
		for _, n := range waiting {
			var text string
			w.soon("a refusal that says why", func() bool {
				text = n.refusal()
				return contains(text, "UNAVAILABLE ", fmt.Sprintf("%d held of %d", workers, workers))
			})
			if !strings.Contains(text, "since ") {
				w.Errorf("the refusal does not say since when: %s", text)
			}
			if n == waiting[0] {
				w.Logf("a daemon that waits says: %s", text)
			}
		}
		leaving := serving[0]
		freed := leaving.holds()
		leaving.stop()
		begun := time.Now()
		var next *node
		w.soon("a daemon that takes the place of the one that left", func() bool {
			for _, n := range waiting {
				if ready(n) {
					next = n
				}
			}
			return next != nil
		})
		w.soon("an ID of the one that took the place", func() bool { return next.refusal() == "" })
		w.limit("one left, and one of those that waited serves", time.Since(begun), 2*time.Second)
		if got := next.holds(); got != freed {
			w.Errorf("it holds worker ID %d, and %d was given back", got, freed)
		}
		n := 0
		for _, w := range waiting {
			if ready(w) {
				n++
			}
		}
		if n != 1 {
			w.Errorf("%d of those that waited serve from one worker ID", n)
		}
	})
}
