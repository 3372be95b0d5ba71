package cluster

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flakeward/flakeward/cli"
	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/internal/faultproxy"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/wire"
)

// sawRaise is what a daemon logs when a raise limits a grant of before.
const sawRaise = "all marks were raised: nothing above that is issued from a grant of before"

// TestGrantBeyondTheRaise restores the coordinator from a backup and raises the marks as the
// documentation says. Meanwhile a daemon that cannot reach it has a grant beyond the raise: it was
// granted after the backup, while the clock of its host was ahead. It issued nothing there. The
// restored counter assigns the same worker ID to the next host, which begins at the raise.
func TestGrantBeyondTheRaise(t *testing.T) {
	for name, others := range map[string]int{
		// They write more than the restored coordinator has, so that it is seen to have gone back.
		"told of the restore": 5,
		"told of the raise":   0,
	} {
		t.Run(name, func(t *testing.T) {
			on(t, 10*time.Minute, func(w *testCluster) { w.raisedBelowAGrant(others) })
		})
	}
}

func (w *testCluster) raisedBelowAGrant(others int) {
	w.Helper()
	first := w.start(w.config("first")) // so that the backup has a worker ID
	first.must(1000)
	first.Stop()
	restore := w.backup()

	a, proxy := w.grantedAnHour(others)
	worker, granted := a.holds(), a.granted()
	proxy.CutAll()
	restore()
	const margin = 15 * time.Minute // of a raise, by default
	raised := w.tick() + w.ticks(margin)
	var out bytes.Buffer
	must.Do(w, cli.Run(w.Context(), []string{"flakeward", "cluster", "raise", "--yes", "--coord", w.url(w.address)}, nil, &out, &out, nil))
	w.Logf("%s", &out)
	// Beyond the raise, and within the grant.
	const beyond = 30 * time.Minute
	b := w.startAhead(w.config("b"), beyond)
	b.must(1000)
	to := b.floor()
	if got := b.holds(); got != worker || to <= w.tick() || to >= granted {
		w.Fatalf("the next host has worker ID %d above tick %d; the drill is void unless it is worker ID %d and a tick from %d to %d",
			got, to, worker, w.tick(), granted)
	}
	proxy.Open()
	a.awaitRaise()

	for _, ahead := range []time.Duration{0, beyond, time.Hour} {
		a.setClock(ahead)
		b.setClock(max(ahead, beyond))
		ofA, ofB := a.takeBeside(b)
		w.Logf("%v ahead: %d IDs of the daemon with the grant, %d of the next", ahead, ofA, ofB)
		if ofB == 0 {
			w.Errorf("%v ahead, the daemon that began at the raise gives no IDs", ahead)
		}
	}
	var text string
	w.soon("a daemon that serves or says why it does not", func() bool {
		text = a.refusal()
		return text == "" || contains(text, "raise")
	})
	if text == "" && a.holds() == worker {
		w.Errorf("the daemon with the grant still serves from worker ID %d", worker)
	}
	w.Logf("the daemon with the grant has worker ID %d and refuses with %q", a.holds(), text)

	a.Stop()
	a = w.start(a.Config)
	a.must(1000)
	if got := a.floor(); a.holds() == worker || got < raised {
		w.Errorf("started again, it has worker ID %d above tick %d", a.holds(), got)
	}
	a.takeBeside(b)
}

// grantedAnHour starts a daemon that has a grant of more than an hour, for its clock was ahead for a
// moment. So many others have come and gone meanwhile.
func (w *testCluster) grantedAnHour(others int) (*node, *faultproxy.Proxy) {
	w.Helper()
	proxy := faultproxy.Listen(w, w.address)
	c := w.config("a")
	c.Cluster.Coord = w.url(proxy.Address())
	c.Waiting.MaxBlock = 300 * time.Millisecond
	n := w.startAhead(c, 0)
	n.must(1000)
	for range others {
		w.start(w.config("passes by")).Stop()
	}
	n.setClock(70 * time.Minute)
	w.soon("a grant of an hour", func() bool { return n.granted() > w.tick()+w.ticks(time.Hour) })
	n.setClock(0)
	return n, proxy
}

// awaitRaise waits until the daemon logs that it knows of the raise. Meanwhile the daemon is asked for
// IDs: one that nobody asks publishes seldom.
func (n *node) awaitRaise() {
	n.w.Helper()
	n.w.soon(n.Config.Host+" says that it knows of the raise", func() bool {
		n.refusal()
		return strings.Contains(n.Log.String(), sawRaise)
	})
}

// startAhead starts a daemon that trusts its clock, which can be set and is ahead.
func (w *testCluster) startAhead(c daemon.Config, ahead time.Duration) *node {
	w.Helper()
	clock := &clocktest.Stepped{}
	clock.By.Store(int64(ahead))
	c.Clock, c.Time.Trust = clock, true
	n := w.start(c)
	n.clock = clock
	return n
}

// setClock sets how far the clock of such a daemon is ahead, and waits until the daemon sees it.
func (n *node) setClock(ahead time.Duration) {
	n.w.Helper()
	n.clock.By.Store(int64(ahead))
	n.w.soon("the clock of "+n.Config.Host, func() bool {
		off := time.Duration(n.number("now")-int64(n.w.tick())) * n.w.layout.TickLength()
		return (off - ahead).Abs() < time.Minute
	})
}

// takeBeside asks two daemons for IDs at the same instants, each until it refuses or has given
// enough, and returns how many each gave.
func (n *node) takeBeside(other *node) (own, others int) {
	n.w.Helper()
	ask := func(n *node, ids *int) {
		for range 100 {
			got, err := n.take(500)
			*ids += len(got)
			var refused wire.Refused
			if errors.As(err, &refused) {
				return
			}
			if err != nil {
				n.w.Errorf("%s answers neither with IDs nor with a refusal: %v", n.Config.Host, err)
				return
			}
		}
	}
	var asking sync.WaitGroup
	asking.Go(func() { ask(n, &own) })
	asking.Go(func() { ask(other, &others) })
	asking.Wait()
	return own, others
}
