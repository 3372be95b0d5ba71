package serve

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

// line is the next line of what the server sends.
func (p *peer) line() string {
	p.t.Helper()
	line := must.Get(p.in.ReadString('\n'))(p.t)
	return strings.TrimSpace(line)
}

// A server with a further socket accepts by none of them while it stands still, and by both
// afterwards. A drain answers those who have connected by either.
func TestAFurtherSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p")
	h := start(t, newStore(-1), nil, must.Get(net.Listen("unix", path))(t))
	both := []*host{h, {Server: h.Server, path: path}}
	for _, by := range both {
		p := by.dial(t)
		p.send("NEXT\r\n")
		p.line()
	}
	frozen := must.Get(h.Freeze())(t)
	var late []*peer
	for _, by := range both {
		p := by.dial(t)
		p.send("NEXT\r\n")
		late = append(late, p)
	}
	if len(frozen.Connections) != len(both) || h.Counters().Accepted != uint64(len(both)) {
		t.Errorf("frozen are %+v", frozen.Connections)
	}
	frozen.Resume()
	for _, p := range late {
		if line := p.line(); line[0] != ':' {
			t.Errorf("afterwards a client gets %q", line)
		}
		p.send("NEXT\r\n")
	}
	must.Do(t, h.Drain(context.Background()))
	for _, p := range late {
		if line := p.line(); line[0] != ':' {
			t.Errorf("at a drain a client gets %q", line)
		}
		p.wantEnd()
	}
}
