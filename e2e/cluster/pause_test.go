package cluster

import (
	"testing"
	"time"

	"github.com/flakeward/flakeward/generator"
)

// sleeper is a daemon in a process of its own that was paused for longer than its session lived.
type sleeper struct {
	*node
	worker  int
	ceiling generator.Tick // a grant that it went to sleep with
	opening string
}

// sleeper starts one. Its host has a name that a successor can have, too.
func (w *testCluster) sleeper(window time.Duration) sleeper {
	w.Helper()
	c := w.config("sleeper")
	c.Grant.Window = window
	c.Cluster.TTL = sessionTTL
	c.Waiting.MaxBlock = 200 * time.Millisecond
	s := sleeper{node: w.spawn(c)}
	s.must(100)
	first := s.granted()
	w.soon("the next grant", func() bool { return s.granted() > first })
	s.must(100)
	s.worker, s.ceiling, s.opening = s.holds(), s.granted(), s.info()["opening"]
	if err := s.process.Pause(); err != nil {
		w.Fatal(err)
	}
	begun := time.Now()
	w.soon("the end of the session of a daemon that is paused", func() bool { return w.holder(s.worker) == nil })
	w.figure("a session of %v had ended %v after its daemon was paused", sessionTTL, time.Since(begun).Round(time.Millisecond))
	return s
}

func (s sleeper) resume() {
	s.w.Helper()
	if err := s.process.Resume(); err != nil {
		s.w.Fatal(err)
	}
}

// serves waits until a daemon gives IDs.
func (n *node) serves() {
	n.w.Helper()
	n.w.soon(n.config.Host+" serves", func() bool { return n.refusal() == "" })
	n.must(100)
}

// TestPausedAndNobodyCame pauses a daemon for longer than its session. It goes on from its own
// worker ID, whether its grant has ended meanwhile or not.
func TestPausedAndNobodyCame(t *testing.T) {
	for name, window := range map[string]time.Duration{"grant ended": 2 * time.Second, "grant goes on": time.Minute} {
		t.Run(name, func(t *testing.T) {
			on(t, 1, func(w *testCluster) {
				s := w.sleeper(window)
				s.resume()
				s.serves()
				w.soon("a grant by another claim", func() bool {
					m := w.holder(s.worker)
					return m != nil && m.Host == "sleeper" && m.Opening != "" && m.Opening != s.opening && s.info()["condition"] == ""
				})
				s.must(100)
				if got := s.holds(); got != s.worker {
					w.Errorf("it had worker ID %d, nobody took that, and it goes on with %d", s.worker, got)
				}
			})
		})
	}
}

// TestHole1PausedAndRecycled pauses a daemon until its worker ID is another's. Elsewhere, both then
// issue from it. Here the one that slept notices before it issues anything, for its grant has
// ended, and takes another worker ID.
func TestHole1PausedAndRecycled(t *testing.T) {
	on(t, 1, func(w *testCluster) {
		s := w.sleeper(2 * time.Second)
		w.soon("the end of its grant", func() bool { return w.tick() > s.ceiling+generator.Tick(time.Second/w.layout.TickLength()) })
		successor := w.start(w.config("sleeper"))
		successor.must(100)
		if got := successor.holds(); got != s.worker {
			w.Fatalf("the drill is void: the successor got worker ID %d, not %d", got, s.worker)
		}
		load := successor.stream(1000)
		asleep := s.stream(1000) // what it is asked for when it wakes up
		s.resume()
		s.serves()
		asleep.await(100)
		asleep.stop()
		load.await(1000)
		load.finish()
		s.must(100)
		if got := s.holds(); got == s.worker {
			w.Errorf("worker ID %d is another's, and the daemon that slept goes on with it", got)
		}
		if got := successor.holds(); got != s.worker {
			w.Errorf("the successor lost worker ID %d and has %d", s.worker, got)
		}
	})
}

// TestHole1PausedWithinItsGrant is the same with a grant that goes on: the one that slept may issue
// to its end, and does; the successor begins after it. Of two worker IDs the other one is held as
// well, so there is nothing else to take.
func TestHole1PausedWithinItsGrant(t *testing.T) {
	on(t, 1, func(w *testCluster) {
		w.setLayout("time=41@1ms,worker=1,sequence=16;epoch=2026-01-01")
		other := w.start(w.config("other"))
		s := w.sleeper(20 * time.Second) // on a busy machine it takes long until another has claimed
		c := w.config("successor")
		c.Waiting.MaxBlock = 200 * time.Millisecond
		successor := w.launch(c)
		w.soon("a successor", func() bool {
			m := w.holder(s.worker)
			return m != nil && m.Host == "successor" && m.Opening != "" && m.Opening != s.opening
		})
		taken := w.tick()
		s.resume()
		load := other.stream(1000)
		within := 0
		w.soon("the end of its grant", func() bool {
			if s.refusal() != "" {
				return true
			}
			within++
			return false
		})
		if within == 0 || taken >= s.ceiling {
			w.Errorf("the drill is void: a grant up to %d was taken over at %d, and %d requests were served then", s.ceiling, taken, within)
		}
		successor.serves()
		if got := generator.Tick(successor.number("floor")); got < s.ceiling {
			w.Errorf("the successor begins above %d, and the grant before it went to %d", got, s.ceiling)
		}
		if text := s.refusal(); !contains(text, "since ", "2 held of 2") {
			w.Errorf("the one that slept should say that nothing is free: %q", text)
		}
		load.finish()
		was := other.holds()
		other.stop()
		s.serves()
		successor.must(100)
		if got := s.holds(); got != was || successor.holds() != s.worker {
			w.Errorf("the one that slept holds %d, the successor %d; want %d and %d", got, successor.holds(), was, s.worker)
		}
		w.figure("%d requests served within the grant while it was another's already", within)
	})
}
