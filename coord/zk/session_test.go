package zk_test

import (
	"crypto/rand"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/zk"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/logtest"
	"github.com/flakeward/flakeward/internal/must"
)

var layout = coord.Layout{Text: "a layout", Workers: 8}

// logged is a log that tests read.
type logged struct{ logtest.Buffer }

func (l *logged) count(s string) int { return strings.Count(l.String(), s) }

func identity() coord.Identity { return coord.Identity{Host: "h", Incarnation: rand.Text()} }

// joined opens a coordinator and joins.
func joined(t testing.TB, servers zk.Servers, config zk.Config) (*zk.Coordinator, *zk.Line) {
	t.Helper()
	if config.Identity.Incarnation == "" {
		config.Identity = identity()
	}
	c, l := dial(t, servers, config), &zk.Line{}
	l.Tap(c)
	coordtest.Join(t, c, layout)
	return c, l
}

func claimed(t testing.TB, c coord.Coordinator, worker int) coord.Claim {
	t.Helper()
	claim := must.Get(c.Claim(t.Context(), coord.Request{Worker: worker, Latest: 1 << 40}))(t)
	if claim.Worker() != worker {
		t.Fatalf("worker ID %d, want %d", claim.Worker(), worker)
	}
	return claim
}

// farTooLong bounds waits, and only a test that fails waits for it.
const farTooLong = 2 * time.Minute

// eventually calls until ok, and fails the test if that takes far too long.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	must.Soon(t, ok, "%s", what)
}

// frozen is a connection that can be made to carry nothing, as a network does that
// loses everything.
type frozen struct {
	net.Conn
	open *gate
}

type gate struct {
	mu     sync.Mutex
	passes chan struct{}
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.passes = make(chan struct{})
}

func (g *gate) lift() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.passes)
	g.passes = nil
}

func (g *gate) pass() {
	g.mu.Lock()
	passes := g.passes
	g.mu.Unlock()
	if passes != nil {
		<-passes
	}
}

func (f frozen) Write(p []byte) (int, error) {
	f.open.pass()
	return f.Conn.Write(p)
}

// claimedAgain reports whether the claim could be extended, and has another node than the one of
// that name.
func claimedAgain(t testing.TB, claim coord.Claim, ceiling generator.Tick, was string) bool {
	t.Helper()
	err := claim.Extend(t.Context(), coord.Progress{Ceiling: ceiling})
	if errors.Is(err, coord.ErrLost) {
		t.Fatal(err)
	}
	return err == nil && claim.Name() != was && claim.Name() != ""
}

// The server ends a session that it does not hear from; its client learns of it only
// afterwards, and claims again.
func TestExpiredSession(t *testing.T) {
	t.Parallel()
	e := zktest.Shared(t)
	servers := zk.Servers{Addresses: e.Addresses(), Chroot: e.Chroot()}
	var log logged
	var expired atomic.Int32
	g := &gate{}
	// A shorter one would end by itself where the machine is busy.
	c, l := dial(t, servers, zk.Config{Timeout: 5 * time.Second, Identity: identity(), Expired: func() { expired.Add(1) }, Log: log.At(hclog.Info)}), &zk.Line{}
	l.Through = func(conn net.Conn) (net.Conn, error) { return frozen{conn, g}, nil }
	l.Tap(c)
	coordtest.Join(t, c, layout)
	claim := claimed(t, c, 3)
	first := zk.SessionID(c)
	must.Do(t, claim.Extend(t.Context(), coord.Progress{Ceiling: 100}))
	was := claim.Name()
	other, _ := joined(t, servers, zk.Config{})
	g.shut()
	eventually(t, "the claim is gone", func() bool {
		ms, err := other.Members(t.Context())
		return err == nil && len(ms) == 0
	})
	g.lift()
	eventually(t, "the claim is made again", func() bool { return claimedAgain(t, claim, 200, was) })
	if ms, err := other.Members(t.Context()); err != nil || len(ms) != 1 || ms[0].Claim != claim.Name() || ms[0].Opening != claim.Opening() || ms[0].Ceiling != 200 {
		t.Errorf("claimed again: %+v, %v", ms, err)
	}
	if zk.SessionID(c) == first {
		t.Error("the session is still the one that has ended")
	}
	if expired.Load() != 1 || log.count("the coordinator session expired") != 1 || log.count("lost the connection to the coordinator") != 1 || log.count("connected:") != 2 {
		t.Errorf("what happened is not told once; the log:\n%s", log.String())
	}
}

// Servers that were away are used again at once when they are back, and the log says
// so once however long that was.
func TestServersThatWereAway(t *testing.T) {
	t.Parallel()
	e := zktest.Start(t, zktest.Options{})
	var log logged
	c, l := joined(t, zk.Servers{Addresses: e.Addresses()}, zk.Config{Log: log.At(hclog.Info)})
	claim := claimed(t, c, 3)
	zk.SetTimeout(c, 300*time.Millisecond)
	e.Stop()
	for range 8 {
		err := claim.Extend(t.Context(), coord.Progress{Ceiling: 100})
		if err == nil || errors.Is(err, coord.ErrLost) {
			t.Fatalf("without a server: %v", err)
		}
		for _, want := range []string{e.Addresses()[0], "extend a grant"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q does not name %q", err, want)
			}
		}
	}
	err := claim.Extend(t.Context(), coord.Progress{Ceiling: 100})
	for _, want := range []string{"nothing listens there", "correct --coord", "connection refused"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	e.Start()
	start := time.Now()
	eventually(t, "the claim is extended", func() bool { return claim.Extend(t.Context(), coord.Progress{Ceiling: 100}) == nil })
	t.Logf("extended %v after the server was back, which was dialed %d times", time.Since(start), l.Dialed)
	if log.count("lost the connection to the coordinator") != 1 || log.count("connected:") != 2 {
		t.Errorf("the log repeats itself, or does not tell:\n%s", log.String())
	}
}

func TestNegotiatedTimeoutIsLogged(t *testing.T) {
	t.Parallel()
	e := zktest.Shared(t)
	for timeout, warnings := range map[time.Duration]int{time.Hour: 1, 10 * time.Second: 0} {
		var log logged
		joined(t, zk.Servers{Addresses: e.Addresses(), Chroot: e.Chroot()}, zk.Config{Timeout: timeout, Log: log.At(hclog.Info)})
		if got := log.count("another timeout than was asked for"); got != warnings {
			t.Errorf("%v: %d warnings, want %d:\n%s", timeout, got, warnings, log.String())
		}
	}
}
