package serve

import (
	"net"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// hanging is a source whose Take does not return while it is to hang.
type hanging struct {
	*store
	hangs            atomic.Bool
	entered, release chan struct{}
}

func (s *hanging) Take(c *issue.Connection, tenant uint32, n int) (generator.Run, issue.Wait) {
	if s.hangs.Load() {
		s.entered <- struct{}{}
		<-s.release
	}
	return s.store.Take(c, tenant, n)
}

// The watchdog is fed by the loop that serves requests, idle or not. While that loop hangs, nobody
// feeds it.
func TestTheWatchdogIsFedByTheLoopAlone(t *testing.T) {
	clock := clocktest.NewManual(time.Unix(1e9, 0))
	s := &hanging{store: newStore(0), entered: make(chan struct{}), release: make(chan struct{})}
	fed := make(chan bool, 1000)
	h := start(t, s, func(c *Config) {
		c.Clock, c.FeedEvery = clock, time.Second
		c.Feed = func() { fed <- s.hangs.Load() }
	})
	turn := func() { clock.BlockUntil(1); clock.Advance(time.Second) }
	for range 3 {
		turn()
		<-fed
	}
	p := h.dial(t)
	p.send("NEXT\r\n")
	<-s.waited
	turn()
	<-fed // a request that waits is no hang
	clock.BlockUntil(1)

	s.hangs.Store(true)
	h.Wake() // has the loop try the request again
	<-s.entered
	for range 100 {
		clock.Advance(time.Second)
		runtime.Gosched()
	}
	s.hangs.Store(false)
	s.release <- struct{}{}
	if <-fed {
		t.Error("the watchdog was fed while the loop hung")
	}
}

// kept is a listener whose socket another process has as well.
type kept struct{ *net.UnixListener }

func (kept) Kept() bool { return true }

// A drain leaves those who wait at a kept socket to whoever serves it next.
func TestDrainLeavesAKeptSocketAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l := must.Get(net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"}))(t)
	l.SetUnlinkOnClose(false)
	file := must.Get(l.File())(t) // another process's
	defer file.Close()
	_ = unix.SetNonblock(int(file.Fd()), true)
	s := New(Config{Source: newStore(-1), Layout: twitter(t), Version: "test"})
	served := make(chan error, 1)
	go func() { served <- s.Serve(t.Context(), kept{l}) }()
	p := (&host{Server: s, path: path}).dial(t)
	p.send("PING\r\n")
	p.want("+PONG\r\n")
	must.Do(t, s.Drain(t.Context()))
	<-served
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatalf("who comes after the drain is refused: %v", err)
	}
	defer c.Close()
	next := must.Get(net.FileListener(file))(t)
	defer next.Close()
	if waiting, err := next.Accept(); err != nil {
		t.Errorf("nobody waits: %v", err)
	} else {
		_ = waiting.Close()
	}
}
