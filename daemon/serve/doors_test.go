package serve

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"

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
	byLate := h.open(t)
	early, late := by.dial(t), byLate.dial(t)
	for _, p := range []*peer{early, late} {
		p.send("NEXT\r\n")
	}
	h.doors.mu.Lock()
	for d := range h.doors.all {
		if d.stop == nil {
			continue // the late one
		}
		select {
		case <-d.stopped:
		default:
			t.Error("a socket is accepted from")
		}
	}
	h.doors.mu.Unlock()
	if len(frozen.Connections) != 1 {
		t.Errorf("frozen are %+v", frozen.Connections)
	}
	frozen.Resume()
	for _, p := range []*peer{early, late} {
		if line := p.line(); line[0] != ':' {
			t.Errorf("afterwards a client gets %q", line)
		}
	}
}
