package cluster

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/faultproxy"
)

// TestDaemonBehindBadNetwork cuts a daemon's connections, at random bytes, from its start to its
// stop, under load.
func TestDaemonBehindBadNetwork(t *testing.T) {
	on(t, 1, func(w *testCluster) {
		proxy := faultproxy.Listen(t, w.addresses()[0])
		lives, cuts := 2, 12
		if *long {
			lives, cuts = 3, 80
		}
		w.observer()
		c := w.config("cut")
		c.Cluster.Coord = w.urlOf([]string{proxy.Address()}, "drill")
		c.Grant.Publish, c.Grant.Window = 100*time.Millisecond, 10*time.Minute
		ids := 0
		for range lives {
			cut := proxy.CutReplyAt(rand.Int64N(600))
			n := w.start(c)
			load := n.stream(rate() / 2)
			for range cuts {
				w.soon("a cut", func() bool {
					believed := n.granted()
					if m := w.holder(n.holds()); m != nil && m.Ceiling < believed {
						w.Errorf("the daemon believes in a ceiling of %d, and %d is stored", believed, m.Ceiling)
					}
					return cut.Fired()
				})
				cut = proxy.CutReplyAt(rand.Int64N(600))
			}
			proxy.Disarm()
			was := n.granted()
			w.soon("grants as before", func() bool { return n.info()["condition"] == "" && n.granted() > was })
			w.soon("one claim and no other", func() bool { return w.claimNodes() == 1 })
			ids += load.finish()
			proxy.CutReplyAt(rand.Int64N(400))
			n.stop()
		}
		w.figure("%d lives behind %d cuts: %d IDs at %d/s, none refused", lives, lives*(cuts+2), ids, rate()/2)
	})
}

// TestDaemonsCutOffForLongerThanTheirSessions loses every packet between three daemons and the
// coordinator until their sessions have ended, in the long form for a minute. Each has another session
// then, and claims the same worker ID again: its opening is the one of before, and no request fails.
func TestDaemonsCutOffForLongerThanTheirSessions(t *testing.T) {
	on(t, 1, func(w *testCluster) {
		ttl, least, spare := sessionTTL, sessionTTL, 9*time.Second
		if *long {
			ttl, least, spare = 10*time.Second, time.Minute, 20*time.Second
		}
		proxy := faultproxy.Listen(w.T, w.addresses()[0])
		w.observer()
		var nodes []*node
		var loads []*stream
		for i := range 3 {
			c := w.config(fmt.Sprint("cut", i))
			c.Cluster.Coord, c.Cluster.TTL = w.urlOf([]string{proxy.Address()}, "drill"), ttl
			nodes = append(nodes, w.start(c))
			loads = append(loads, nodes[i].stream(rate()/2))
		}
		outlasts := generator.Tick((least + spare) / w.layout.TickLength())
		for _, n := range nodes {
			w.soon("a grant that outlasts the cut", func() bool { return n.granted() > w.tick()+outlasts })
		}
		had, sessions := w.opened(len(nodes)), w.claimSessions()
		proxy.Hang()
		cut := time.Now()
		w.soon("the end of the sessions", func() bool { return len(w.members()) == 0 && time.Since(cut) >= least })
		lasted := time.Since(cut)
		proxy.Open()
		now := w.opened(len(nodes))
		for i, m := range now {
			if m.Worker != had[i].Worker || m.Host != had[i].Host || m.Opening != had[i].Opening || m.Claim == had[i].Claim {
				w.Errorf("after the cut %+v holds a worker ID, before it %+v", m, had[i])
			}
		}
		for _, s := range w.claimSessions() {
			if slices.Contains(sessions, s) {
				w.Errorf("session %x is one of before: %x", s, sessions)
			}
		}
		ids := 0
		for _, l := range loads {
			ids += l.finish()
		}
		w.figure("%d daemons cut off for %v with sessions of %v: %d IDs at %d/s, none refused; other sessions, the same worker IDs", len(nodes),
			lasted.Round(time.Millisecond), ttl, ids, len(nodes)*(rate()/2))
	})
}

// opened waits until so many daemons hold a worker ID that they have opened, and returns them.
func (w *testCluster) opened(n int) (members []coord.Member) {
	w.Helper()
	w.soon("all hold a worker ID", func() bool {
		members = w.members()
		return len(members) == n && !slices.ContainsFunc(members, func(m coord.Member) bool { return m.Opening == "" })
	})
	return members
}

// rate is how many IDs a second a daemon is asked for under load.
func rate() int {
	if *long {
		return 10_000
	}
	return 1000
}
