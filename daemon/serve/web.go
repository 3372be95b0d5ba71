//go:build unix

package serve

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/budget"
	"github.com/flakeward/flakeward/daemon/turnstile"
)

// HTTP answers the connections that speak it; *http.Server is one. The connections that its
// listener returns are *WebConn.
type HTTP interface {
	Serve(net.Listener) error       // returns once the listener is closed
	SetKeepAlivesEnabled(bool)      // without them, a connection ends with its next reply
	Shutdown(context.Context) error // ends the connections after what they have asked for
	Close() error                   // ends them
}

const (
	// webConnBytes is what a connection that speaks HTTP takes: buffers in both directions, a stack,
	// and a request.
	webConnBytes = 24 << 10
	// http2Bytes is what one of HTTP/2 takes besides: what it may send ahead, the largest frame,
	// buffers, tables of header fields, and a second stack. Its requests have their own.
	http2Bytes = 96 << 10
)

// web is the connections that speak HTTP, and the listener from which their server gets them. They
// count as the others do.
type web struct {
	config    Config
	counts    *counts
	entrances []*entrance // none: nobody speaks HTTP here
	serve     sync.WaitGroup
	ctx       context.Context // ends with stop
	cancel    context.CancelFunc

	reads turnstile.Turnstile // of HTTP/2, and of all where they are many
	many  atomic.Int64        // how many connections are open, for those who do not hold the lock

	tooMuch func() // called when more is kept than the budget allows; nil: nobody cares

	mu     sync.Mutex
	comes  sync.Cond // somebody came or left, or the listeners were closed
	open   map[*WebConn]struct{}
	http2  map[budget.User]int // how many of them speak HTTP/2
	closed bool                // nobody comes any more
}

// entrance is the listener from which a server gets its connections. web.mu guards the queue.
type entrance struct {
	*web
	http  HTTP
	queue []*WebConn // who came and is not served yet
}

const (
	// fewWeb connections are no crowd: their reads need no turns.
	fewWeb = 64
	// fewHTTP2 is how many connections of HTTP/2 a user has before its next may ask for less at once
	// each. With a hundred requests in each of 300, memory for them was asked for and given up all
	// the time, and another user's slowest hundredth of requests took 30 to 70 ms. A client that is
	// told so late asks again after a second or more, so it is told so where it must be.
	fewHTTP2 = 32
)

func newWeb(c Config, n *counts) *web {
	a := &web{config: c, counts: n, open: make(map[*WebConn]struct{}), http2: make(map[budget.User]int)}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	a.comes.L = &a.mu
	for _, h := range []HTTP{c.HTTP, c.Crowd} {
		if h != nil {
			a.entrances = append(a.entrances, &entrance{web: a, http: h})
		}
	}
	return a
}

// begin has those served who come.
func (a *web) begin() {
	for _, d := range a.entrances {
		a.serve.Go(func() { _ = d.http.Serve(d) })
	}
	if len(a.entrances) > 0 {
		a.serve.Go(a.endIdle)
	}
}

const (
	// webIdle is how long a connection may ask for nothing, unless Limits.IdleTimeout says.
	webIdle = 2 * time.Minute
	// farewell is how long a client has at least that was told to send no request any more.
	farewell = time.Second
)

// endIdle ends the connections that ask for nothing for too long. net/http could do that, but its
// HTTP/2 starts its timer once more for a connection that closes while a request waits, and keeps all
// that it had of the connection until the timer fires. How long the first header of a connection may
// take, it bounds itself.
func (a *web) endIdle() {
	timeout := cmp.Or(a.config.Limits.IdleTimeout, webIdle)
	every := max(sweepOf(timeout), farewell)
	for a.config.Clock.Sleep(a.ctx, every) == nil {
		for _, v := range a.conns() {
			asked := v.asked.Load()
			if v.asking.Load() || asked != v.before || asked == 0 {
				v.before, v.quiet, v.told = asked, 0, false
				continue
			}
			// Who can be told so is told first, as a request may be on its way.
			if v.quiet += every; v.quiet >= timeout {
				if v.told = !v.told && v.GoAway(); !v.told {
					_ = v.Close()
				}
			}
		}
	}
}

// sweepOf is how often idle connections are looked for.
func sweepOf(timeout time.Duration) time.Duration { return max(timeout/8, time.Millisecond) }

// come takes over a connection, with its account: c, or fd where that is nil. Of it was read what
// is given. It reports whether more than the budget is kept from now on.
func (a *web) come(c net.Conn, fd int, g client, account budget.Account, read []byte) (over bool) {
	v := &WebConn{Conn: c, client: g, web: a, read: slices.Clone(read), fd: fd, account: account, header: header{named: g.who.Address.IsValid()}}
	ahead := 0
	if bytes.HasPrefix(read, []byte(preface)) {
		v.ahead = make([]byte, aheadBytes)
		ahead = aheadBytes + http2Bytes
	}
	a.mu.Lock()
	a.add(v)
	over = v.account.Hold(account.Held() + webConnBytes + cap(v.read) + ahead)
	closed := a.closed
	if !closed {
		d := a.entrance(v)
		d.queue = append(d.queue, v)
		a.comes.Broadcast()
	}
	a.mu.Unlock()
	if closed {
		_ = v.Close()
	}
	return over
}

// add counts a connection in. The caller holds the lock, as that of remove and entrance does.
func (a *web) add(v *WebConn) {
	a.open[v] = struct{}{}
	a.many.Store(int64(len(a.open)))
	if v.ahead != nil {
		a.http2[v.user()]++
	}
}

// remove counts it out, once, and reports whether it was there.
func (a *web) remove(v *WebConn) bool {
	if !a.has(v) {
		return false
	}
	delete(a.open, v)
	a.many.Store(int64(len(a.open)))
	if v.ahead != nil {
		if a.http2[v.user()]--; a.http2[v.user()] == 0 {
			delete(a.http2, v.user())
		}
	}
	v.account.Hold(0)
	a.comes.Broadcast()
	return true
}

// has reports whether the connection has not been counted out.
func (a *web) has(v *WebConn) bool {
	_, ok := a.open[v]
	return ok
}

// entrance is where the connection goes in.
func (a *web) entrance(v *WebConn) *entrance {
	if v.ahead != nil && a.http2[v.user()] > fewHTTP2 {
		return a.entrances[len(a.entrances)-1]
	}
	return a.entrances[0]
}

// Accept implements net.Listener, as do Close and Addr.
func (a *entrance) Accept() (net.Conn, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for {
		for len(a.queue) == 0 && !a.closed {
			a.comes.Wait()
		}
		if a.closed {
			return nil, net.ErrClosed
		}
		v := a.queue[0]
		a.queue[0] = nil
		a.queue = a.queue[1:]
		if a.has(v) && (v.Conn != nil || v.connect() == nil) {
			return v, nil
		}
	}
}

// connect makes the connection of its descriptor. web.mu is held; nothing here waits.
func (v *WebConn) connect() error {
	file := os.NewFile(uintptr(v.fd), "")
	c, err := net.FileConn(file)
	_ = file.Close() // c has its own descriptor
	v.Conn, v.fd = c, -1
	if err != nil {
		v.web.config.Log.Warn("a connection is dropped", "connection", v.id, "error", err)
		v.web.remove(v)
		v.web.counts.end(v.user())
	}
	return err
}

// Close closes the listener: who comes from now on is dropped.
func (a *web) Close() error {
	a.mu.Lock()
	a.closed = true
	var dropped []*WebConn
	for _, d := range a.entrances {
		dropped = append(dropped, d.queue...)
		d.queue = nil
	}
	a.comes.Broadcast()
	a.mu.Unlock()
	for _, v := range dropped {
		_ = v.Close()
	}
	return nil
}

// Addr is nobody's.
func (a *web) Addr() net.Addr { return &net.UnixAddr{Net: "unix"} }

// conns are the open connections.
func (a *web) conns() []*WebConn {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Collect(maps.Keys(a.open))
}

// len is how many there are.
func (a *web) len() int { return int(a.many.Load()) }

// relieve ends one of those connections whom may names, and reports whether there was one: the
// oldest, or where memory is needed the one whose requests take most.
func (a *web) relieve(may func(*WebConn) bool, why Reason) bool {
	for {
		leaves := a.first(may, why == Heavy)
		if leaves == nil {
			return false
		}
		if leaves.Close() != nil {
			continue // it has ended meanwhile, maybe for another who looked at the same time
		}
		a.counts.refused[why].Add(1)
		a.config.Log.Warn("a client's connection is ended", "code", why, "user", leaves.who.User(), "pid", leaves.who.PID, "connection", leaves.id)
		return true
	}
}

// first is the oldest of those whom may names, or of them the one whose requests take most; nil:
// there is none.
func (a *web) first(may func(*WebConn) bool, most bool) (first *WebConn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for v := range a.open {
		switch {
		case !may(v):
		case first == nil, most && v.held > first.held, (!most || v.held == first.held) && v.id < first.id:
			first = v
		}
	}
	return first
}

// most is what the requests of one of the user's connections take, at most.
func (a *web) most(u budget.User) int {
	v := a.first(func(v *WebConn) bool { return v.user() == u }, true)
	if v == nil {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return v.held
}

// disconnect ends all.
func (a *web) disconnect() {
	for _, v := range a.conns() {
		_ = v.Close()
	}
}

// drain has each connection end with its next reply.
func (a *web) drain() {
	for _, d := range a.entrances {
		d.http.SetKeepAlivesEnabled(false)
	}
}

// stop ends all that is under way, and that follows.
func (a *web) stop() { a.cancel() }

// end answers who has come, unless there was a stop, and returns once all have gone.
func (a *web) end() {
	if a.config.HTTP != nil {
		// Shutdown comes last: it answers nothing that is read after it, though it had arrived before.
		idle := make(map[*WebConn]uint64) // of HTTP/2, with their requests until now
		for _, v := range a.conns() {
			if v.ahead != nil && !v.asking.Load() {
				idle[v] = v.asked.Load()
			}
		}
		a.awaitLatecomers()
		for v, asked := range idle {
			if !v.asking.Load() && v.asked.Load() == asked {
				v.GoAway()
			}
		}
		if len(idle) > 0 {
			a.awaitLatecomers()
		}
		for _, v := range a.conns() {
			if !v.asking.Load() {
				_ = v.Close()
			}
		}
		a.awaitEmpty(a.ctx)
		for _, d := range a.entrances {
			_ = d.http.Shutdown(a.ctx)
			_ = d.http.Close()
		}
	}
	_ = a.Close()
	a.cancel()
	a.serve.Wait()
	a.disconnect()
}

// leaveTimeout bounds what is answered once another process has the socket.
const leaveTimeout = 5 * time.Second

// leave has each connection end with its next reply: they are not handed to another process.
func (a *web) leave() {
	a.drain()
	ctx, cancel := clockguard.WithTimeout(context.Background(), a.config.Clock, leaveTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, a.stop)()
	a.end()
}

// latecomers is how long a drain waits for requests that have not arrived in whole.
const latecomers = time.Second

// awaitLatecomers returns once all have gone, or after that time.
func (a *web) awaitLatecomers() {
	ctx, cancel := clockguard.WithTimeout(a.ctx, a.config.Clock, latecomers)
	defer cancel()
	a.awaitEmpty(ctx)
}

// awaitEmpty returns once all have gone, or with ctx.
func (a *web) awaitEmpty(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.comes.Broadcast()
	})
	defer stop()
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.open) > 0 && ctx.Err() == nil {
		a.comes.Wait()
	}
}
