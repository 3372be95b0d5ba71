package cluster

import (
	"math/rand/v2"
	"testing"
	"time"

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

// rate is how many IDs a second a daemon is asked for under load.
func rate() int {
	if *long {
		return 10_000
	}
	return 1000
}
