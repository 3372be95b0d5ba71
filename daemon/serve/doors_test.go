package serve

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakeward/flakeward/internal/must"
)

// open opens a further socket.
func (h *host) open(t *testing.T) *host {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p")
	h.Open(must.Get(net.Listen("unix", path))(t))
	return &host{Server: h.Server, path: path}
}

// line is the next line of what the server sends.
func (p *peer) line() string {
	p.t.Helper()
	line := must.Get(p.in.ReadString('\n'))(p.t)
	return strings.TrimSpace(line)
}

// A drain answers those who have connected by a further socket, and a server that has ended takes no
// more sockets.
func TestDrainAnswersAllSockets(t *testing.T) {
	h := start(t, newStore(-1), nil)
	p := h.open(t).dial(t)
	p.send("PING\r\n")
	p.line()
	p.send("NEXT\r\n")
	must.Do(t, h.Drain(context.Background()))
	if line := p.line(); line != ":0" {
		t.Errorf("the client gets %q", line)
	}
	p.wantEnd()
	if _, err := net.Dial("unix", h.open(t).path); err == nil {
		t.Error("a server that has ended takes a connection")
	}
}

// holdable tells for each Accept whether it was held up.
type holdable struct {
	*net.UnixListener
	held    atomic.Bool
	accepts chan bool
}

func (l *holdable) SetDeadline(at time.Time) error {
	l.held.Store(!at.IsZero())
	return l.UnixListener.SetDeadline(at)
}

func (l *holdable) Accept() (net.Conn, error) {
	l.accepts <- l.held.Load()
	return l.UnixListener.Accept()
}

// While the server stands still, nobody is accepted by any socket, one that comes meanwhile
// included.
func TestFreezeHoldsAllSockets(t *testing.T) {
	h := start(t, newStore(-1), nil)
	by := h.open(t)
	p := by.dial(t)
	p.send("NEXT\r\n")
	p.line()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	frozen, err := h.Freeze(ctx)
	must.Do(t, err)
	path := filepath.Join(t.TempDir(), "late")
	l := must.Get(net.Listen("unix", path))(t)
	held := &holdable{UnixListener: l.(*net.UnixListener), accepts: make(chan bool, 1000)}
	h.Open(held)
	byLate := &host{Server: h.Server, path: path}
	if !<-held.accepts {
		t.Error("a socket that comes meanwhile is accepted from")
	}
	accepted := h.counts.accepted.Load()
	early, late := by.dial(t), byLate.dial(t)
	for _, p := range []*peer{early, late} {
		p.send("NEXT\r\n")
	}
	if n := h.counts.accepted.Load(); n != accepted || len(frozen.Connections) != 1 {
		t.Errorf("%d were accepted meanwhile; frozen are %+v", n-accepted, frozen.Connections)
	}
	frozen.Resume()
	for _, p := range []*peer{early, late} {
		if line := p.line(); line[0] != ':' {
			t.Errorf("afterwards a client gets %q", line)
		}
	}
}
