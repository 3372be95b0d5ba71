//go:build unix

package serve

import (
	"cmp"
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/flakeward/flakeward/daemon/budget"
	"github.com/flakeward/flakeward/daemon/resp"
)

// goroutines is the engine for systems without epoll: a goroutine for each connection, which asks
// the same handler as the event loop. It has no order among connections that wait for IDs, ends none
// to make room for another, and ends the one that asks for memory where there is none.
type goroutines struct {
	config  Config
	counts  *counts
	web     *web
	ctx     context.Context // ends with stop
	cancel  context.CancelFunc
	open    context.Context // ends with drain or stop
	shut    context.CancelFunc
	serving sync.WaitGroup

	mu      sync.Mutex
	conns   map[net.Conn]struct{}
	until   time.Time       // until when a drain waits for more from the clients
	changed context.Context // ends with the next change
	change  context.CancelFunc
}

var errDropped = errors.New("the server ends, or another connection would have to")

func startGoroutines(c Config, a *web) *goroutines {
	e := &goroutines{config: c, counts: a.counts, web: a, conns: make(map[net.Conn]struct{})}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.open, e.shut = context.WithCancel(e.ctx)
	e.changed, e.change = context.WithCancel(e.ctx)
	return e
}

func (e *goroutines) add(c net.Conn, g client) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.open.Err() != nil || g.verdict == budget.Relieve || g.verdict == budget.Recycle {
		return cmp.Or(c.Close(), errDropped)
	}
	e.conns[c] = struct{}{}
	e.serving.Go(func() {
		read, web := e.serve(c, g)
		if !web {
			_ = c.Close()
			e.counts.end(g.user())
		}
		e.mu.Lock()
		delete(e.conns, c)
		over := web && e.web.come(c, -1, g, e.config.Budget.Open(g.user()), read)
		e.mu.Unlock()
		if over {
			e.tooMuch(g.user())
		}
	})
	return nil
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
	e.shut()
	e.until = after(drainWait)
	for c := range e.conns {
		_ = c.SetReadDeadline(e.until)
	}
}

func (e *goroutines) stop() {
	e.cancel()
	e.disconnect()
}

func (e *goroutines) wait() {
	<-e.open.Done()
	e.serving.Wait()
}

// serve answers one connection to its end, or returns what was read of one that speaks HTTP.
func (e *goroutines) serve(c net.Conn, g client) (read []byte, web bool) {
	handler, session, account := e.config.handler(), resp.Session{ID: g.id, Peer: g.who}, e.config.Budget.Open(g.user())
	defer func() {
		handler.Abandon(&session)
		_ = resp.Publish(handler)
		account.Hold(0)
	}()
	var in, out []byte
	used, next, changed, told := 0, resp.Next{State: resp.Read}, e.ctx, e.config.HTTP == nil
	for last := false; e.ctx.Err() == nil; {
		switch next.State {
		case resp.Close:
			return nil, false
		case resp.Wait:
			unknown := vagueWait
			if next.Event {
				unknown = time.Hour // a change comes earlier
			}
			e.counts.waiting.Add(1)
			_ = e.config.Clock.Sleep(changed, cmp.Or(next.For, unknown))
			e.counts.waiting.Add(-1)
		case resp.Read:
			had := len(in)
			if !last {
				in, last = e.receive(c, in)
			}
			if len(in) == had {
				return nil, false
			}
		}
		if !told {
			switch dialectOf(in) {
			case untold:
				continue
			case speaksHTTP:
				return in, c.SetDeadline(time.Time{}) == nil
			}
			told = true
		}
		e.mu.Lock()
		changed = e.changed // what is tried from now on must not miss it
		e.mu.Unlock()
		used, out, next = handler.Serve(&session, in, out[:0])
		in = in[:copy(in, in[used:])]
		timed := resp.Publish(handler)
		if account.Hold(cap(in)+cap(out)+session.Held()) && cap(in)+cap(out) > 2*keptBuffer {
			e.counts.refused[Heavy].Add(1)
			out, next.State = resp.Refuse(resp.TooMuchMemory, account.Held()>>10).Append(nil), resp.Close
		}
		_ = c.SetWriteDeadline(after(e.config.Limits.WriteTimeout))
		if _, err := c.Write(out); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				e.counts.refused[NotReading].Add(1)
			}
			return nil, false
		}
		if timed {
			resp.Observe(handler, e.config.Clock.Now().Mono)
		}
	}
	return nil, false
}

// receive waits for what the client sends, and adds it to in. If last, nothing more is to be read.
func (e *goroutines) receive(c net.Conn, in []byte) (_ []byte, last bool) {
	e.mu.Lock()
	now, idle, size := after(0), e.config.Limits.IdleTimeout, keptBuffer
	if !e.until.IsZero() {
		last, size = now.After(e.until), readAtOnce
		_ = c.SetReadDeadline(now.Add(max(e.until.Sub(now), vagueWait)))
	} else if idle > 0 {
		_ = c.SetReadDeadline(now.Add(idle))
	}
	e.mu.Unlock()
	in = slices.Grow(in, size)
	n, err := c.Read(in[len(in):cap(in)])
	if errors.Is(err, os.ErrDeadlineExceeded) && e.open.Err() == nil {
		e.counts.refused[Idle].Add(1)
	}
	return in[:len(in)+n], last || err != nil
}

func after(d time.Duration) time.Time { return time.Now().Add(d) } //nolint:forbidigo // sockets know no other clock
