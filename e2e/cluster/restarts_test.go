package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/flakeward/flakeward/daemon"
)

// servesAgainWithin is how soon a daemon has to serve that was killed, from the start of its
// process: a journal's step, a tick, and the start itself.
const servesAgainWithin = 1300 * time.Millisecond

// restarts are ways in which a daemon comes back to the journal that it wrote.
var restarts = []struct {
	name string
	// on returns the machine for the next start, from the one that the daemon is on.
	on func(w *testCluster, m machine, c *daemon.Config) machine
}{
	{"kill -9", func(_ *testCluster, m machine, _ *daemon.Config) machine { return m }},
	{"container made anew", func(w *testCluster, m machine, c *daemon.Config) machine {
		return m.namespaced(w, []string{"--uts", "--ipc", "--pid", "--fork", "--kill-child"},
			`mount --bind "$VOLUME" "$STATE"; mount -t proc proc /proc; hostname "$NAME"`,
			"VOLUME="+filepath.Join(filepath.Dir(c.StateDir), "volume"), "STATE="+c.StateDir, fmt.Sprintf("NAME=container-%d", time.Now().UnixNano()))
	}},
	{"reboot, identity known", func(w *testCluster, m machine, _ *daemon.Config) machine {
		return m.namespaced(w, nil, bootID, w.otherBoot())
	}},
}

// TestRestartWhereItWasWritten kills daemons and starts them again where their journal was written.
// Each goes on with its worker ID.
func TestRestartWhereItWasWritten(t *testing.T) {
	for _, kind := range restarts {
		t.Run(kind.name, func(t *testing.T) {
			on(t, 1, func(w *testCluster) {
				c := w.config("home")
				c.Cluster.TTL = longSession
				for _, dir := range []string{c.StateDir, filepath.Join(filepath.Dir(c.StateDir), "volume")} {
					if err := os.Mkdir(dir, 0o700); err != nil {
						w.Fatal(err)
					}
				}
				home, _ := w.apart(w.machine("home"))
				n := w.spawnOn(c, kind.on(w, home, &c))
				rounds := 1
				if *long {
					rounds = 20
				}
				var took []time.Duration
				for range rounds {
					again := w.againAt(n, kind.on(w, home, &c))
					took = append(took, again.served)
					n = again.node
				}
				slices.Sort(took)
				w.figure("| %s | %s | %d | %v | %v |", w.backend, kind.name, rounds, took[rounds/2].Round(time.Millisecond),
					took[rounds-1].Round(time.Millisecond))
			})
		})
	}
}

// again is a daemon that was started again.
type again struct {
	*node
	served time.Duration // its first ID, from its start
}

// againAt kills a daemon under load and starts it again on a machine. It has the worker ID that it
// had.
func (w *testCluster) againAt(n *node, m machine) again {
	w.Helper()
	n.must(1000)
	worker := n.holds()
	n.kill()
	next := w.spawnOn(n.config, m)
	next.must(1)
	a := again{next, time.Since(next.begun)}
	next.must(1000)
	if got := next.holds(); got != worker {
		w.Errorf("it had worker ID %d and has %d:\n%s", worker, got, next.tail())
	}
	if limit := bound(servesAgainWithin); a.served > limit {
		w.Errorf("it served after %v, more than %v", a.served, limit)
	}
	return a
}
