//go:build unix

package serve

import (
	"cmp"
	"context"
	"errors"
	"net"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/budget"
	"github.com/flakeward/flakeward/daemon/resp"
)

// goroutines is the engine for systems without epoll: a goroutine for each connection, which asks
// the same handler as the event loop. It has no order among connections that wait for IDs, and
// ends the connection that asks for memory where there is none.
type goroutines struct {
	config Config
	counts *counts
	web    *web
	ctx    context.Context // ends with stop
	cancel context.CancelFunc
	ended  sync.WaitGroup // the connections', and one more until drain or stop
	over   sync.Once      // that one's end

	mu       sync.Mutex
	conns    map[net.Conn]client
	draining bool
	changed  context.Context // ends with the next change
	change   context.CancelFunc
}

func startGoroutines(c Config, a *web) (*goroutines, error) {
	e := &goroutines{config: c, counts: a.counts, web: a, conns: make(map[net.Conn]client)}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.changed, e.change = context.WithCancel(e.ctx)
	e.ended.Add(1)
	return e, nil
}

func (e *goroutines) add(c net.Conn, g client) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ctx.Err() != nil || e.draining {
		_ = c.Close()
		return net.ErrClosed
	}
	e.makeRoom(g)
	e.conns[c] = g
	e.ended.Go(func() {
		if e.serve(c, g) {
			return // the HTTP server has it
		}
		_ = c.Close()
		e.mu.Lock()
		delete(e.conns, c)
		e.mu.Unlock()
		e.counts.end(g.user())
	})
	return nil
}

// makeRoom ends the oldest connection of those that may have to end for g.
func (e *goroutines) makeRoom(g client) {
	var leaves net.Conn
	for c, of := range e.conns {
		if g.mayEnd(of) && (leaves == nil || of.id < e.conns[leaves].id) {
			leaves = c
		}
	}
	why := Recycled
	if g.verdict == budget.Relieve {
		why = Relieved
	}
	if leaves == nil {
		e.web.relieve(func(v *WebConn) bool { return g.mayEnd(v.client) }, why)
	} else {
		_ = leaves.Close()
		e.counts.refused[why].Add(1)
	}
}

func (e *goroutines) wake() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.change()
	e.changed, e.change = context.WithCancel(e.ctx)
}

func (e *goroutines) tooMuch(u budget.User) {
	e.web.relieve(func(v *WebConn) bool { return v.user() == u }, Heavy)
}

// live is closed: there is no round.
func (e *goroutines) live() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

func (e *goroutines) disconnect() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for c := range e.conns {
		_ = c.Close()
	}
}

func (e *goroutines) drain() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.draining = true
	for c := range e.conns {
		_ = c.SetReadDeadline(longAgo) // whoever waits for the client stops to
	}
	e.over.Do(e.ended.Done)
}

func (e *goroutines) stop() {
	e.cancel()
	e.disconnect()
	e.over.Do(e.ended.Done)
}

func (e *goroutines) wait() {
	e.ended.Wait()
	e.cancel()
}

var longAgo = time.Unix(1, 0)

// serve answers one connection to its end, or returns true once the HTTP server has it.
func (e *goroutines) serve(c net.Conn, g client) (web bool) {
	handler, session, account := e.config.handler(), resp.Session{ID: g.id, Peer: g.who}, e.config.Budget.Open(g.user())
	var in, out []byte
	told := e.config.HTTP == nil
	defer func() {
		handler.Abandon(&session)
		_ = resp.Publish(handler)
		account.Hold(0)
	}()
	next, changed := resp.Next{State: resp.Read}, e.ctx
	for last := false; e.ctx.Err() == nil; {
		switch next.State {
		case resp.Close:
			return false
		case resp.Wait:
			e.counts.waiting.Add(1)
			e.pause(changed, next)
			e.counts.waiting.Add(-1)
		case resp.Read:
			had := len(in)
			if !last {
				in, last = e.receive(c, in, told)
			}
			if len(in) == had {
				return false
			}
		}
		if !told {
			switch dialectOf(in) {
			case speaksHTTP:
				e.mu.Lock()
				delete(e.conns, c)
				over := e.web.come(c, -1, g, e.config.Budget.Open(g.user()), in)
				e.mu.Unlock()
				if over {
					e.tooMuch(g.user())
				}
				return true
			case speaksRESP:
				told = true
			default:
				continue
			}
		}
		e.mu.Lock()
		changed = e.changed // what is tried from now on must not miss it
		e.mu.Unlock()
		var used int
		used, out, next = handler.Serve(&session, in, out[:0])
		in = in[:copy(in, in[used:])]
		timed := resp.Publish(handler)
		if account.Hold(cap(in)+cap(out)+session.Held()) && cap(in)+cap(out) > 2*keptBuffer {
			e.counts.refused[Heavy].Add(1)
			_ = e.send(c, resp.Refuse(resp.TooMuchMemory, account.Held()>>10).Append(nil))
			return false
		}
		if err := e.send(c, out); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				e.counts.refused[NotReading].Add(1)
			}
			return false
		}
		if timed {
			resp.Observe(handler, e.config.Clock.Now().Mono)
		}
	}
	return false
}

func (e *goroutines) send(c net.Conn, replies []byte) error {
	if len(replies) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(e.ctx, e.config.Limits.WriteTimeout)
	defer cancel()
	deadline, _ := ctx.Deadline()
	_ = c.SetWriteDeadline(deadline)
	_, err := c.Write(replies)
	return err
}

func (e *goroutines) pause(changed context.Context, next resp.Next) {
	switch {
	case !next.Event:
		_ = e.config.Clock.Sleep(e.ctx, cmp.Or(next.For, vagueWait))
	case next.For > 0:
		_ = e.config.Clock.Sleep(changed, next.For)
	default:
		<-changed.Done()
	}
}

// receive waits for what the client sends, and adds it to in. If last, nothing more is to be read: if
// the dialect is told by then, the client cannot send any more either.
func (e *goroutines) receive(c net.Conn, in []byte, told bool) (_ []byte, last bool) {
	if idle := e.config.Limits.IdleTimeout; idle > 0 {
		ctx, cancel := clockguard.WithTimeout(context.Background(), e.config.Clock, idle)
		defer cancel()
		stop := context.AfterFunc(ctx, func() { _ = c.Close() })
		defer func() {
			if !stop() {
				e.counts.refused[Idle].Add(1)
			}
		}()
	}
	in = slices.Grow(in, keptBuffer)
	n, err := c.Read(in[len(in):cap(in)])
	in = in[:len(in)+n]
	if sc, ok := c.(syscall.Conn); ok && errors.Is(err, os.ErrDeadlineExceeded) { // a drain has begun
		return received(sc, in, told), true
	}
	return in, err != nil
}

// received adds what has been received by now to in, and does not wait.
func received(c syscall.Conn, in []byte, shut bool) []byte {
	raw, err := c.SyscallConn()
	if err != nil {
		return in
	}
	_ = raw.Control(func(fd uintptr) {
		if shut && runtime.GOOS == "linux" { // elsewhere it would throw away what has been received
			_ = unix.Shutdown(int(fd), unix.SHUT_RD)
		}
		for most := len(in) + mostRest; len(in) < most; {
			in = slices.Grow(in, readAtOnce)
			n, _, err := unix.Recvfrom(int(fd), in[len(in):cap(in)], unix.MSG_DONTWAIT)
			if err != nil || n <= 0 {
				return
			}
			in = in[:len(in)+n]
		}
	})
	return in
}

// mostRest bounds what is read at the end from a client that does not stop sending.
const mostRest = 1 << 20
