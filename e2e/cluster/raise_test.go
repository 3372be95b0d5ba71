package cluster

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/faultproxy"
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
			on(t, 1, func(w *testCluster) { w.raisedBelowAGrant(others) })
		})
	}
}

func (w *testCluster) raisedBelowAGrant(others int) {
	w.Helper()
	first := w.start(w.config("first")) // makes the cluster, so that it is in the backup
	first.must(1000)
	first.stop()
	restore := w.backup()

	a, proxy := w.grantedAnHour(others)
	worker, granted := a.holds(), a.granted()
	proxy.CutAll()
	restore()
	const margin = 15 * time.Minute // of a raise, by default
	raised := w.tick() + generator.Tick(margin/w.layout.TickLength())
	w.Logf("%s", w.flakeward(nil, "cluster", "raise", "--yes", "--coord", w.url))
	// Beyond the raise, and within the grant.
	const beyond = 30 * time.Minute
	b := w.startAhead(w.config("b"), beyond)
	b.must(1000)
	to := generator.Tick(b.number("floor"))
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

	a.stop()
	a = w.start(a.config)
	a.must(1000)
	if got := a.number("floor"); a.holds() == worker || got < int64(raised) {
		w.Errorf("started again, it has worker ID %d above tick %d", a.holds(), got)
	}
	a.takeBeside(b)
}

// grantedAnHour starts a daemon that has a grant of more than an hour, for its clock was ahead for a
// moment. So many others have come and gone meanwhile.
func (w *testCluster) grantedAnHour(others int) (*node, *faultproxy.Proxy) {
	w.Helper()
	proxy := faultproxy.Listen(w.T, w.addresses()[0])
	c := w.config("a")
	c.Cluster.Coord = w.urlOf([]string{proxy.Address()}, "drill")
	c.Waiting.MaxBlock = 300 * time.Millisecond
	n := w.startAhead(c, 0)
	n.must(1000)
	for range others {
		w.start(w.config("passes by")).stop()
	}
	n.setClock(70 * time.Minute)
	hour := generator.Tick(time.Hour / w.layout.TickLength())
	w.soon("a grant of an hour", func() bool { return n.granted() > w.tick()+hour })
	n.setClock(0)
	return n, proxy
}

// awaitRaise waits until the daemon logs that it knows of the raise. Meanwhile the daemon is asked for
// IDs: one that nobody asks publishes seldom.
func (n *node) awaitRaise() {
	n.w.Helper()
	requests := n.stream(10)
	n.w.soon(n.config.Host+" says that it knows of the raise", func() bool { return strings.Contains(n.log.String(), sawRaise) })
	if _, _, ended := requests.stop(); ended != nil {
		n.w.Error(ended)
	}
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
	n.w.soon("the clock of "+n.config.Host, func() bool {
		off := time.Duration(generator.Tick(n.number("now"))-n.w.tick()) * n.w.layout.TickLength()
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
				n.w.Errorf("%s answers neither with IDs nor with a refusal: %v", n.config.Host, err)
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
