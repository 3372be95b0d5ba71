package cluster

import (
	"regexp"
	"testing"
	"time"
)

// rate is how many IDs a second a daemon is asked for under load.
func rate() int {
	if *long {
		return 10_000
	}
	return 1000
}

// TestCoordinatorGone ends all servers under daemons whose grants last for longer, and restarts
// daemons meanwhile: one in order and one by kill -9. Nobody stops to issue, and those that were
// restarted serve from their journals.
func TestCoordinatorGone(t *testing.T) {
	on(t, 1, func(w *testCluster) {
		window := func(host string) *node {
			c := w.config(host)
			c.Grant.Window = 10 * time.Minute
			if host == "killed" {
				return w.spawn(c)
			}
			return w.start(c)
		}
		stays, stops, dies := window("stays"), window("stopped"), window("killed")
		load := stays.stream(rate())
		load.await(rate())
		load.LongestGap()
		killAll(w)
		gone := time.Now()
		for _, n := range []*node{stays, stops, dies} {
			n.must(100)
			w.soon("a grant that is not extended", func() bool { return n.info()["condition"] != "" })
		}
		restart := func(n *node, again func() *node) {
			n.must(100)
			worker, ceiling := n.holds(), n.granted()
			incarnation, cluster := n.info()["incarnation"], n.info()["cluster_id"]
			if n == dies {
				n.kill()
			} else {
				n.stop()
			}
			stopped := time.Now()
			n = again()
			n.must(100)
			info := n.info()
			if n.holds() != worker || n.granted() != ceiling || info["incarnation"] == incarnation || info["claimed"] != "false" || info["cluster_id"] != cluster {
				w.Errorf("%s had worker ID %d up to %d and has, with the coordinator gone: %v", n.config.Host, worker, ceiling, info)
			}
			w.figure("%s: serves %v after its end, from its journal", n.config.Host, time.Since(stopped).Round(time.Millisecond))
			w.Logf("%s says: %s", n.config.Host, info["condition"])
			if n.process != nil {
				dies = n
			} else {
				stops = n
			}
		}
		restart(stops, func() *node { return w.start(stops.config) })
		restart(dies, func() *node { return w.spawn(dies.config) })
		if *long {
			w.soon("a minute", func() bool { return time.Since(gone) > time.Minute })
		}
		load.await(rate())
		before := stays.granted()
		gap := load.LongestGap()
		for i := range w.addresses() {
			w.revive(i)
		}
		away := time.Since(gone)
		for _, n := range []*node{stays, stops, dies} {
			w.soon("a grant that is extended again", func() bool {
				return n.info()["condition"] == "" && n.granted() > before
			})
			n.must(100)
		}
		ids := load.finish()
		w.figure("the coordinator was gone for %v: %d IDs at %d/s, none refused, longest gap between answers %v",
			away.Round(time.Millisecond), ids, rate(), gap.Round(time.Millisecond))
	})
}

// TestCoordinatorGoneForLongerThanTheWindow: issuing stops at the ceiling, says since when and why,
// and goes on by itself.
func TestCoordinatorGoneForLongerThanTheWindow(t *testing.T) {
	on(t, 1, func(w *testCluster) {
		c := w.config("short")
		c.Grant.Window, c.Grant.Publish = 3*time.Second, 300*time.Millisecond
		absence := 6 * time.Second
		if *long {
			c.Grant.Window, c.Grant.Publish = 5*time.Second, time.Second
			absence = 15 * time.Second
		}
		c.Waiting.MaxBlock = 100 * time.Millisecond
		n := w.start(c)
		last := n.must(100)
		gone := time.Now()
		killAll(w)
		var text string
		w.soon("the end of the grant", func() bool {
			ids, err := n.take(1)
			if err == nil {
				last = ids
				return false
			}
			text = err.Error()
			return w.tick() > n.granted()
		})
		stopped := time.Since(gone)
		info := n.info()
		ceiling := n.granted()
		parts, err := w.layout.Decompose(last[len(last)-1])
		if err != nil {
			w.Fatal(err)
		}
		if parts.Tick > ceiling {
			w.Errorf("the last ID is of tick %d, and the grant ends with %d", parts.Tick, ceiling)
		}
		// It issued for as long as it might: to within what a request on a busy machine takes.
		w.figure("issuing stopped %v after the coordinator was gone, %v before the ceiling (window %v)", stopped.Round(time.Millisecond),
			time.Duration(ceiling-parts.Tick)*w.layout.TickLength(), c.Grant.Window)
		says := func() bool {
			return contains(text, "UNAVAILABLE ", "was not granted more", w.addresses()[0]) && since(text, gone, time.Now())
		}
		if !*long { // with so short a window it has not been given up yet to ask for another grant
			w.soon("a refusal that says why", func() bool { text = n.refusal(); return says() })
		}
		if !says() {
			w.Errorf("the refusal does not say since when and why: %s", text)
		}
		if info["state"] != "stopped" {
			w.Errorf("INFO says that the daemon is %q", info["state"])
		}
		w.Logf("the daemon says: %s", text)
		w.soon("the coordinator's return", func() bool {
			if got := n.refusal(); got == "" {
				w.Fatal("an ID was issued after the end of the grant")
			}
			return time.Since(gone) > absence
		})
		started := time.Now()
		for i := range w.addresses() {
			w.revive(i)
		}
		back := time.Now()
		w.soon("IDs", func() bool { return n.refusal() == "" })
		w.figure("issuing goes on %v after the coordinator was started", time.Since(started).Round(time.Millisecond))
		w.limit("issuing goes on after the coordinator is back", time.Since(back), 2*time.Second)
		if now := n.granted(); now <= ceiling || n.holds() < 0 {
			w.Errorf("the grant ended with %d and ends with %d", ceiling, now)
		}
		n.must(100)
		w.soon("no condition", func() bool { return n.info()["condition"] == "" })
	})
}

var instant = regexp.MustCompile(`since (\S+?):? `)

// since reports whether a refusal is of a condition that began from first until last, to the second.
func since(text string, first, last time.Time) bool {
	m := instant.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	at, err := time.Parse(time.RFC3339, m[1])
	return err == nil && !at.Before(first.Truncate(time.Second)) && !at.After(last)
}
