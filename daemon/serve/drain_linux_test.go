package serve

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/internal/must"
)

// Once a drain has begun no client can send what nobody will read: it learns that before the first
// byte of a request is taken.
func TestDrainTakesNoMore(t *testing.T) {
	s := newStore(0)
	h := start(t, s, nil)
	p := h.dial(t)
	p.send("NEXT\r\n")
	<-s.waited
	last := h.dial(t) // comes after p wherever the loop goes through all
	last.send("PING\r\n")
	last.want("+PONG\r\n")
	drained := make(chan error, 1)
	go func() { drained <- h.Drain(context.Background()) }()
	last.wantEnd()
	if _, err := p.Write([]byte("NEXT\r\n")); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("a request after the drain began: %v, want %v", err, syscall.EPIPE)
	}
	s.put(-1)
	h.Wake()
	p.want(":0\r\n")
	p.wantEnd()
	if err := <-drained; err != nil {
		t.Errorf("Drain: %v", err)
	}
	<-h.served
}

// Clients that keep asking through a drain, half of them on a new connection for each request:
// whatever the kernel has taken of them is answered, and what it has not is refused. Nobody is left
// in doubt.
func TestDrainLosesNoRequest(t *testing.T) {
	var old, fresh atomic.Int64
	for range 20 {
		h := start(t, newStore(-1), nil)
		var clients sync.WaitGroup
		var answered atomic.Int64
		busy := make(chan struct{})
		for i := range 16 {
			lost := &old
			if i%2 == 0 {
				lost = &fresh
			}
			clients.Go(func() {
				for ask(t, h.path, lost == &fresh, lost, func() {
					if answered.Add(1) == 100 {
						close(busy)
					}
				}) {
				}
			})
		}
		<-busy
		must.Do(t, h.Drain(context.Background()))
		clients.Wait()
	}
	if old.Load()+fresh.Load() > 0 {
		t.Errorf("%d requests on old connections and %d on new ones were lost in 20 drains", old.Load(), fresh.Load())
	}
}

// ask connects and asks for one ID after the other, or for one alone. It returns false once it was
// refused.
func ask(t *testing.T, path string, once bool, lost *atomic.Int64, answered func()) bool {
	c, err := net.Dial("unix", path)
	if err != nil {
		return false
	}
	defer c.Close()
	for in := bufio.NewReader(c); ; {
		if _, err := io.WriteString(c, "NEXT\r\n"); err != nil {
			if !errors.Is(err, syscall.EPIPE) {
				t.Errorf("write: %v", err)
			}
			return false
		}
		if _, err := in.ReadString('\n'); err != nil {
			lost.Add(1)
			return false
		}
		answered()
		if once {
			return true
		}
	}
}

// unwatched is a connection that epoll cannot watch, so adopting it fails and is logged.
type unwatched struct {
	net.Conn
	file *os.File
}

func (c unwatched) SyscallConn() (syscall.RawConn, error) { return c.file.SyscallConn() }
func (c unwatched) Close() error                          { return nil }

// logged is called with each line of a log.
type logged func()

func (f logged) Write(b []byte) (int, error) { f(); return len(b), nil }

// A drain that begins right after a connection was added, while the loop is busy adopting another,
// answers what that one has sent.
func TestDrainWhileAdopting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l := must.Get(net.Listen("unix", path))(t)
	defer l.Close()
	asker := (&host{path: path}).dial(t)
	added := must.Get(l.Accept())(t)
	asker.send("PING\r\n")
	file := must.Get(os.Create(path + ".file"))(t)
	defer file.Close()

	var e *loop
	started := make(chan struct{})
	adopting := sync.OnceFunc(func() {
		<-started
		e.counts.accepted.Add(1)
		if err := e.add(added, client{id: 2}); err != nil {
			t.Error(err)
		}
		e.drain()
	})
	s := New(Config{Source: newStore(-1), Layout: twitter(t), Log: hclog.New(&hclog.LoggerOptions{Output: logged(adopting)})})
	e = must.Get(startLoop(s.config, s.web))(t)
	close(started)
	must.Do(t, e.add(unwatched{file: file}, client{id: 1}))
	asker.want("+PONG\r\n")
	asker.wantEnd()
	e.wait()
}

// held is a connection whose own descriptor stays open after its Close, as it does for as long as
// the goroutine that adds it is delayed.
type held struct{ net.Conn }

func (c held) SyscallConn() (syscall.RawConn, error) { return c.Conn.(syscall.Conn).SyscallConn() }
func (c held) Close() error                          { return nil }

// The end of one client is not taken for that of the next, which gets its descriptor's number.
func TestEndIsNotTakenForTheNext(t *testing.T) {
	h := &host{path: filepath.Join(t.TempDir(), "s")}
	l := must.Get(net.Listen("unix", h.path))(t)
	defer l.Close()
	s := New(Config{Source: newStore(-1), Layout: twitter(t)})
	e := must.Get(startLoop(s.config, s.web))(t)
	var clients [4]*peer
	var served [4]net.Conn // all there before the first is added, so each takes the number that the one before it had in the loop
	for i := range clients {
		clients[i] = h.dial(t)
		served[i] = must.Get(l.Accept())(t)
		defer served[i].Close()
	}
	for i, each := range clients {
		s.counts.accepted.Add(1)
		must.Do(t, e.add(held{served[i]}, client{id: int64(i)}))
		each.send("PING\r\n")
		each.want("+PONG\r\n")
		each.send("QUIT\r\n")
		each.want("+OK\r\n")
		each.Close()
		for s.counts.ended.Load() <= uint64(i) {
			runtime.Gosched()
		}
	}
	e.drain()
	e.wait()
}
