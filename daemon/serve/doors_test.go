package serve

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakeward/flakeward/daemon/peercred"
	"github.com/flakeward/flakeward/internal/must"
)

// pod opens a socket of a pod's, and returns the pod and the path.
func (h *host) pod(t *testing.T, number uint32, user string) (*peercred.Pod, *host) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p")
	l := must.Get(net.Listen("unix", path))(t)
	pod := &peercred.Pod{Directory: user, User: user, Number: number}
	h.Open(l, pod)
	return pod, &host{Server: h.Server, path: path}
}

// line is the next line of what the server sends.
func (p *peer) line() string {
	p.t.Helper()
	line := must.Get(p.in.ReadString('\n'))(p.t)
	return strings.TrimSpace(line)
}

// Who comes by a pod's socket is the pod, whom no list of UIDs keeps out. Once that is shut, its
// connections are closed, and no others.
func TestAPodsSocket(t *testing.T) {
	each(t, func(t *testing.T, engine string) {
		h := start(t, engine, newStore(-1), func(c *Config) {
			c.Allow = func(who peercred.Credentials) bool { return who.Pod != nil }
		})
		a, byA := h.pod(t, 1, "n/a")
		_, byB := h.pod(t, 2, "n/b")
		first, second, other := byA.dial(t), byA.dial(t), byB.dial(t)
		for i, p := range []*peer{first, second, other} {
			p.send("CLIENT INFO\r\n")
			_, line := p.line(), p.line()
			if want := " user=" + []string{"n/a", "n/a", "n/b"}[i] + " "; !strings.Contains(line, want) {
				t.Errorf("the connection is %q, want%s", line, want)
			}
			p.line()
		}
		for number, want := range map[uint32]int{1: 2, 2: 1} {
			if n := h.counts.connections.Of(userOf(peercred.Credentials{Pod: &peercred.Pod{Number: number}})); n != want {
				t.Errorf("the pod %d has %d connections, want %d", number, n, want)
			}
		}
		h.Shut(a)
		for _, p := range []*peer{first, second} {
			p.wantEnd()
		}
		if _, err := net.Dial("unix", byA.path); err == nil {
			t.Error("the socket that was shut takes a connection")
		}
		other.send("NEXT\r\n")
		if line := other.line(); line != ":0" {
			t.Errorf("the other pod gets %q", line)
		}
	})
}

// A drain answers those who have connected by a pod's socket, and a server that has ended takes no
// further one.
func TestDrainAnswersPods(t *testing.T) {
	each(t, func(t *testing.T, engine string) {
		h := start(t, engine, newStore(-1), nil)
		_, by := h.pod(t, 1, "n/a")
		p := by.dial(t)
		p.send("PING\r\n")
		p.line()
		p.send("NEXT\r\n")
		must.Do(t, h.Drain(context.Background()))
		if line := p.line(); line != ":0" {
			t.Errorf("the pod gets %q", line)
		}
		p.wantEnd()
		_, late := h.pod(t, 2, "n/b")
		if _, err := net.Dial("unix", late.path); err == nil {
			t.Error("a server that has ended takes a connection")
		}
	})
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
func TestFreezeHoldsPods(t *testing.T) {
	h := start(t, "system", newStore(-1), nil)
	_, by := h.pod(t, 1, "n/a")
	p := by.dial(t)
	p.send("NEXT\r\n")
	p.line()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	frozen, err := h.Freeze(ctx)
	if errors.Is(err, ErrNotFrozen) && runtime.GOOS != "linux" {
		t.Skip(err)
	}
	must.Do(t, err)
	path := filepath.Join(t.TempDir(), "late")
	l := must.Get(net.Listen("unix", path))(t)
	held := &holdable{UnixListener: l.(*net.UnixListener), accepts: make(chan bool, 1000)}
	h.Open(held, &peercred.Pod{Directory: "late", User: "n/late", Number: 2})
	byLate := &host{Server: h.Server, path: path}
	if !<-held.accepts {
		t.Error("a socket that comes meanwhile is accepted from")
	}
	accepted := h.counts.accepted.Load()
	early, late := by.dial(t), byLate.dial(t)
	for _, p := range []*peer{early, late} {
		p.send("NEXT\r\n")
	}
	if n := h.counts.accepted.Load(); n != accepted || len(frozen.Connections) != 1 || frozen.Connections[0].Peer.Pod.User != "n/a" {
		t.Errorf("%d were accepted meanwhile; frozen are %+v", n-accepted, frozen.Connections)
	}
	frozen.Resume()
	for _, p := range []*peer{early, late} {
		if line := p.line(); line[0] != ':' {
			t.Errorf("afterwards a pod gets %q", line)
		}
	}
}
