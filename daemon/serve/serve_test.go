package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/budget"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// store is a Source that counts up while it has something.
type store struct {
	mu     sync.Mutex
	next   int64
	left   int // -1: any number
	wait   issue.Wait
	waited chan struct{} // gets one for each request that has to wait
}

func newStore(left int) *store {
	return &store{left: left, wait: issue.Wait{Event: true}, waited: make(chan struct{}, 1000)}
}

func (s *store) Take(_ *issue.Connection, _ uint32, n int) (generator.Run, issue.Wait) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.left == 0:
		s.waited <- struct{}{}
		return generator.Run{}, s.wait
	case s.left > 0:
		n = min(n, s.left)
		s.left -= n
	}
	run := generator.Run{First: s.next, N: n}
	s.next += int64(n)
	return run, issue.Wait{}
}

func (s *store) put(left int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = left
}

// host is a server under test.
type host struct {
	*Server
	path   string
	served chan error // gets what Serve returned
}

func twitter(t *testing.T) *generator.Layout {
	return must.Get(generator.ParseLayout("twitter"))(t)
}

// deadline ends a test that would hang, so that it fails instead.
const deadline = 30 * time.Second

func start(t *testing.T, source resp.Source, change func(*Config), more ...net.Listener) *host {
	t.Helper()
	c := Config{Source: source, Layout: twitter(t), Version: "test"}
	if change != nil {
		change(&c)
	}
	h := &host{Server: New(c), path: filepath.Join(t.TempDir(), "s"), served: make(chan error, 1)}
	l := must.Get(net.Listen("unix", h.path))(t)
	for _, l := range more {
		h.Open(l)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.served <- h.Serve(ctx, l)
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return h
}

// peer is a client of raw bytes.
type peer struct {
	*net.UnixConn
	in *bufio.Reader
	t  *testing.T
}

func (h *host) dial(t *testing.T) *peer {
	t.Helper()
	c := must.Get(net.Dial("unix", h.path))(t)
	t.Cleanup(func() { _ = c.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	t.Cleanup(cancel)
	at, _ := ctx.Deadline()
	_ = c.SetDeadline(at)
	return &peer{c.(*net.UnixConn), bufio.NewReader(c), t}
}

func (p *peer) send(text string) {
	p.t.Helper()
	must.Get(io.WriteString(p, text))(p.t)
}

func (p *peer) want(text string) {
	p.t.Helper()
	got := make([]byte, len(text))
	n, err := io.ReadFull(p.in, got)
	if err != nil || string(got) != text {
		p.t.Fatalf("got %q (%v), want %q", got[:n], err, text)
	}
}

// wantEnd is for a connection that the server closes without another reply.
func (p *peer) wantEnd() {
	p.t.Helper()
	if rest, err := io.ReadAll(p.in); err != nil || len(rest) > 0 {
		p.t.Fatalf("got %q (%v), want the end", rest, err)
	}
}

// A request that waits holds up what follows on its connection, and nothing else.
func TestWaitingHoldsUpNobodyElse(t *testing.T) {
	s := newStore(0)
	h := start(t, s, nil)
	a, b := h.dial(t), h.dial(t)
	a.send("PING\r\nNEXT 2\r\nPING\r\n")
	a.want("+PONG\r\n")
	<-s.waited
	b.send("PING\r\nDECODE 0\r\nINFO\r\nHELLO\r\nPING last\r\n")
	b.want("+PONG\r\n*12\r\n")
	for line := ""; line != "last\r\n"; {
		line = must.Get(b.in.ReadString('\n'))(t)
	}
	a.send("NEXT\r\n") // while it waits
	s.put(3)
	h.Wake()
	a.want("*2\r\n:0\r\n:1\r\n+PONG\r\n:2\r\n")
}

// A wait is over by itself, and is not held up by a longer one.
func TestWaitIsOverByItself(t *testing.T) {
	for _, wait := range []issue.Wait{{For: time.Millisecond}, {For: 3 * time.Millisecond, Event: true}, {}} {
		s := newStore(0)
		s.wait = issue.Wait{For: time.Hour}
		h := start(t, s, nil)
		h.dial(t).send("NEXT\r\n")
		<-s.waited
		s.mu.Lock()
		s.wait = wait
		s.mu.Unlock()
		p := h.dial(t)
		p.send("NEXT\r\n")
		<-s.waited
		s.put(1)
		p.want(":0\r\n")
	}
}

func TestBrokenFrameEndsItsConnectionOnly(t *testing.T) {
	h := start(t, newStore(-1), nil)
	good, bad := h.dial(t), h.dial(t)
	good.send("NEXT\r\n")
	good.want(":0\r\n")
	bad.send("NEXT\r\n*1\r\nPING\r\n")
	bad.want(":1\r\n-ERR Protocol error: expected '$', got 'P'; the connection is closed\r\n")
	bad.wantEnd()
	long := h.dial(t)
	go func() { _, _ = io.WriteString(long, strings.Repeat("x", 100<<10)) }() // its end may find the connection closed
	long.want("-ERR Protocol error: a line has at most 65536 bytes; the connection is closed\r\n")
	good.send("NEXT\r\n")
	good.want(":2\r\n")
}

// A client that has sent all it wanted and says so still gets every reply, those that had to wait
// too.
func TestHalfClose(t *testing.T) {
	s := newStore(100)
	h := start(t, s, nil)
	p := h.dial(t)
	p.send(strings.Repeat("*1\r\n$4\r\nNEXT\r\n", 3000) + "RUN 7\r\n")
	must.Do(t, p.CloseWrite())
	<-s.waited
	s.put(-1)
	h.Wake()
	for i := range 3000 {
		p.want(fmt.Sprintf(":%d\r\n", i))
	}
	p.want("*3\r\n:1\r\n:3000\r\n:7\r\n")
	p.wantEnd()
}

func TestTooManyConnections(t *testing.T) {
	h := start(t, newStore(-1), func(c *Config) { c.Limits.Connections = 2 })
	for range 2 {
		p := h.dial(t)
		p.send("PING\r\n")
		p.want("+PONG\r\n")
	}
	p := h.dial(t)
	p.want("-ERR too many connections: the limit is 2; close some, or raise --max-connections\r\n")
	p.wantEnd()
	if c := h.Counters(); c.Connections != 2 || c.Accepted != 2 || c.Refused[Full] != 1 || c.Requests != 2 {
		t.Errorf("counters %+v", c)
	}
}

// Who has no connection is not told to close some.
func TestAUserWithoutConnectionsIsToldWhoHasThem(t *testing.T) {
	h := start(t, newStore(-1), func(c *Config) { c.Limits.Connections = 1 })
	h.counts.connections.Come(budget.User(os.Getuid() + 1))
	p := h.dial(t)
	p.want("-ERR too many connections: the limit is 1, and other users have them all; try again later, or raise --max-connections\r\n")
	p.wantEnd()
}

func TestCounters(t *testing.T) {
	h := start(t, newStore(-1), nil)
	p := h.dial(t)
	p.send("NEXT 10\r\nRUN 5\r\nNEXT\r\nNEXT 0\r\nQUIT\r\n")
	_, _ = io.ReadAll(p.in)
	must.Do(t, h.Drain(context.Background()))
	if got, want := h.Counters(), (Counters{Accepted: 1, Requests: 5, IDs: 16, Errors: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// brittle is a listener whose first accepts fail.
type brittle struct {
	net.Listener
	errs []error
}

func (b *brittle) Accept() (net.Conn, error) {
	if len(b.errs) > 0 {
		err := b.errs[0]
		b.errs = b.errs[1:]
		return nil, err
	}
	return b.Listener.Accept()
}

// Hole 13 of well-known generators, its second half: an error from accept was used as if it had
// been a connection.
func TestHole13AcceptGoesOnAfterErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l := must.Get(net.Listen("unix", path))(t)
	h := &host{Server: New(Config{Source: newStore(-1), Layout: twitter(t), Clock: clockguard.System{}}), path: path}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() {
		served <- h.Serve(ctx, &brittle{l, []error{errors.New("no descriptors"), errors.New("none yet")}})
	}()
	p := h.dial(t)
	p.send("PING\r\n")
	p.want("+PONG\r\n")
	cancel()
	if err := <-served; !errors.Is(err, context.Canceled) {
		t.Errorf("Serve returned %v", err)
	}
	p.wantEnd()
}
