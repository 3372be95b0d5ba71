package cluster

import (
	"fmt"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord/connect"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// shortWindow is of a cluster whose grants end soon, however old a daemon is.
const shortWindow = 3 * time.Second

// short starts a daemon that refuses soon after its grant has ended.
func (w *testCluster) short(host string) *node {
	w.Helper()
	c := w.config(host)
	c.Waiting.MaxBlock = 300 * time.Millisecond
	return w.start(c)
}

// serves waits until a daemon gives IDs.
func (n *node) serves() {
	n.w.Helper()
	n.w.soon(n.Config.Host+" serves", func() bool { return n.refusal() == "" })
	n.must(100)
}

// TestRestoredFromBackup puts back what the coordinator had before some of the daemons were there
// and others opened their records anew. Those that run stop at the end of their grants and say why.
// After the marks were raised, nobody who starts shares a tick with them, nor with what was issued
// before.
func TestRestoredFromBackup(t *testing.T) {
	for name, atOnce := range map[string]bool{"raised at once": true, "raised when all have stopped": false} {
		t.Run(name, func(t *testing.T) {
			on(t, shortWindow, func(w *testCluster) { w.restored(atOnce) })
		})
	}
}

func (w *testCluster) restored(atOnce bool) {
	w.Helper()
	stays, restarts, dies := w.short("stays"), w.short("restarts"), w.short("dies")
	old := []*node{stays, restarts, dies}
	for _, n := range old {
		n.must(1000)
	}
	restore := w.backup()
	for _, n := range old {
		n.serves()
		was := n.granted()
		w.soon("a grant after the backup", func() bool { return n.granted() > was })
	}
	restarts.Stop()
	restarts = w.start(restarts.Config)
	after := w.short("after") // of which the backup knows nothing
	dies.must(1000)
	dies.Stop()
	running := []*node{stays, restarts, after}
	for _, n := range running {
		n.must(1000)
	}
	restore()
	begun := time.Now()
	to := w.tick() + w.ticks(shortWindow+2*time.Second) // beyond every grant
	var fresh []*node
	raise := func() {
		o := must.Get(connect.Operate(connect.Config{URL: w.url(w.address)}))(w)
		defer o.Close()
		w.soon("the cluster", func() bool {
			_, err := o.Inspect(w.Context())
			return err == nil
		})
		// Those that were not told of the restore yet may have been granted more since.
		to = w.tick() + w.ticks(shortWindow+2*time.Second)
		raised, err := o.Raise(w.Context(), to)
		if err != nil || raised.To != to {
			w.Fatalf("the marks should be at %d: %+v, %v", to, raised, err)
		}
		for i := range 3 {
			fresh = append(fresh, w.launch(w.config(fmt.Sprintf("fresh%d", i))))
		}
	}
	if atOnce {
		raise()
	}
	for _, n := range running {
		// A coordinator that has been written to often enough since is not seen to have gone back
		// by those who come late. That their claims are of a time before the marks were raised,
		// they see.
		if moved := n.untilStoppedOrAbove(to, atOnce); moved {
			w.Logf("%s goes on above what the marks were raised to", n.Config.Host)
		}
	}
	w.Logf("all running daemons had stopped to issue what was granted before %v after the coordinator was restored", time.Since(begun).Round(time.Millisecond))
	if !atOnce {
		raise()
	}
	for _, n := range append(fresh, w.launch(dies.Config)) {
		n.UntilReady()
		n.must(1000)
		if got := n.floor(); got < to {
			w.Errorf("%s begins above %d, and all marks were raised to %d", n.Config.Host, got, to)
		}
	}
	for _, n := range running {
		n.Stop()
		w.start(n.Config).must(1000)
	}
}

// untilStoppedOrAbove waits until a daemon whose coordinator was restored has stopped and says so,
// or, where that may be, issues above what the marks were raised to.
func (n *node) untilStoppedOrAbove(to generator.Tick, may bool) (moved bool) {
	n.w.Helper()
	says := []string{"UNAVAILABLE since ", "was not granted more", "restore", "from a backup", "cluster raise"}
	var text string
	n.w.soon(n.Config.Host+" stops", func() bool {
		text = n.refusal()
		moved = may && n.floor() >= to
		return moved || contains(text, says...)
	})
	if !moved {
		n.w.Logf("%s says: %s", n.Config.Host, text)
		if got := n.granted(); got > to {
			n.w.Errorf("%s has a grant up to %d, above %d", n.Config.Host, got, to)
		}
	}
	return moved
}
