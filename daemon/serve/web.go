//go:build unix

package serve

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

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
	// webConnBytes is what a connection that speaks HTTP takes: buffers in both directions, a
	// stack, and a request.
	webConnBytes = 24 << 10
	// http2Bytes is what one of HTTP/2 takes besides: what it may send ahead, the largest frame,
	// buffers, tables of header fields, and a second stack. Its requests have their own.
	http2Bytes = 96 << 10
	// fewWeb connections are no crowd: their reads need no turns.
	fewWeb = 64
	// fewHTTP2 is how many connections of HTTP/2 a user has before its next may ask for less at
	// once each. With a hundred requests in each of 300, memory for them was asked for and given up
	// all the time, and another user's slowest hundredth of requests took 30 to 70 ms. A client
	// that is told so late asks again after a second or more, so it is told so where it must be.
	fewHTTP2 = 32
	// webIdle is how long a connection may ask for nothing, unless Limits.IdleTimeout says.
	webIdle = 2 * time.Minute
	// latecomers is how long a drain waits for requests that have not arrived in whole. A client
	// has as long at least that was told to send no request any more.
	latecomers = time.Second
	// leaveTimeout bounds what is answered once another process has the socket.
	leaveTimeout = 5 * time.Second
)

// web is the connections that speak HTTP. They are counted as the others are.
type web struct {
	config  Config
	counts  *counts
	servers []*webListener // none: nobody speaks HTTP here
	serve   sync.WaitGroup
	ctx     context.Context // ends with stop
	stop    context.CancelFunc
	over    context.Context // ends when nobody comes any more
	close   context.CancelFunc

	turns   *turnstile.Turnstile // of reads of HTTP/2, and of many connections
	many    atomic.Int64         // how many connections there are
	left    chan struct{}        // gets one when a connection has ended
	tooMuch func()               // called when more is kept than the budget allows; nil: nobody cares

	mu    sync.Mutex
	open  map[*WebConn]struct{} // those that are served
	http2 map[budget.User]int   // how many connections speak HTTP/2
}

// webListener is where a server gets its connections from.
type webListener struct {
	*web
	http HTTP
	come chan *WebConn
}

func newWeb(c Config, n *counts) *web {
	a := &web{
		config: c, counts: n, turns: turnstile.New(), left: make(chan struct{}, 1),
		open: make(map[*WebConn]struct{}), http2: make(map[budget.User]int),
	}
	a.ctx, a.stop = context.WithCancel(context.Background())
	a.over, a.close = context.WithCancel(context.Background())
	for _, h := range []HTTP{c.HTTP, c.Crowd} {
		if h != nil {
			a.servers = append(a.servers, &webListener{a, h, make(chan *WebConn)})
		}
	}
	return a
}

// begin has those served who come.
func (a *web) begin() {
	for _, s := range a.servers {
		a.serve.Go(func() { _ = s.http.Serve(s) })
	}
	if len(a.servers) > 0 {
		a.serve.Go(a.endIdle)
	}
}

// endIdle ends the connections that ask for nothing for too long. net/http could do that, but its
// HTTP/2 starts its timer once more for a connection that closes while a request waits, and keeps
// all that it had of the connection until the timer fires. How long the first header of a
// connection may take, it bounds itself.
func (a *web) endIdle() {
	timeout := cmp.Or(a.config.Limits.IdleTimeout, webIdle)
	every := max(sweepOf(timeout), latecomers)
	for a.config.Clock.Sleep(a.ctx, every) == nil {
		now := a.config.Clock.Now().Mono
		for _, v := range a.conns() {
			if !v.idle() || now.Sub(clockguard.Mono(v.since.Load())) < timeout {
				continue
			}
			// Who can be told so is told first, as a request may be on its way.
			if v.told = !v.told && v.goAway(); !v.told {
				_ = v.Close()
			}
		}
	}
}

// sweepOf is how often idle connections are looked for.
func sweepOf(timeout time.Duration) time.Duration { return max(timeout/8, time.Millisecond) }

// come takes over a descriptor with its account. Read is what was read from it.
func (a *web) come(fd int, g client, account budget.Account, read []byte) {
	v := &WebConn{client: g, web: a, fd: fd, account: account, hosts: hosts{named: g.who.Address.IsValid()}}
	v.http2 = bytes.HasPrefix(read, []byte(preface))
	v.in = io.MultiReader(bytes.NewReader(slices.Clone(read)), inTurn{v})
	a.many.Add(1)
	to := a.servers[0]
	if v.http2 {
		v.in = bufio.NewReaderSize(v.in, aheadBytes)
		a.mu.Lock()
		if a.http2[v.user()]++; a.http2[v.user()] > fewHTTP2 {
			to = a.servers[len(a.servers)-1]
		}
		a.mu.Unlock()
	}
	a.serve.Go(func() { // the event loop does not wait
		select {
		case to.come <- v:
		case <-a.over.Done():
			_ = unix.Close(v.fd)
			a.ended(v)
		}
	})
}

// Accept implements net.Listener, as do Close and Addr.
func (s *webListener) Accept() (net.Conn, error) {
	for {
		select {
		case v := <-s.come:
			if s.connect(v) {
				return v, nil
			}
		case <-s.over.Done():
			return nil, net.ErrClosed
		}
	}
}

// connect makes the connection of its descriptor.
func (a *web) connect(v *WebConn) bool {
	file := os.NewFile(uintptr(v.fd), "")
	c, err := net.FileConn(file)
	_ = file.Close() // c has its own descriptor
	if err != nil {
		a.config.Log.Warn("a connection is dropped", "connection", v.id, "error", err)
		a.ended(v)
		return false
	}
	v.Conn = c
	size := webConnBytes
	if v.http2 {
		size += aheadBytes + http2Bytes
	}
	a.mu.Lock()
	a.open[v] = struct{}{}
	a.mu.Unlock()
	v.charge(size)
	return true
}

// ended counts out a connection that is not served any more, or never was.
func (a *web) ended(v *WebConn) {
	a.mu.Lock()
	v.account.Hold(0)
	if v.http2 {
		if a.http2[v.user()]--; a.http2[v.user()] == 0 {
			delete(a.http2, v.user())
		}
	}
	a.mu.Unlock()
	a.counts.end(v.user())
	a.many.Add(-1)
	select {
	case a.left <- struct{}{}:
	default:
	}
}

// Close closes the listener: who comes from now on is dropped.
func (s *webListener) Close() error {
	s.close()
	return nil
}

// Addr is nobody's.
func (s *webListener) Addr() net.Addr { return &net.UnixAddr{Net: "unix"} }

// conns are the connections that are served.
func (a *web) conns() []*WebConn {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Collect(maps.Keys(a.open))
}

// relieve ends one of those connections whom may names, and reports whether there was one: the
// oldest, or where memory is needed the one whose requests take most.
func (a *web) relieve(may func(client) bool, why Reason) bool {
	leaves, _ := a.first(may, why == Heavy)
	if leaves == nil {
		return false
	}
	if leaves.Close() == nil { // or it has ended meanwhile
		a.counts.refused[why].Add(1)
		a.config.Log.Warn("a client's connection is ended", "code", why, "user", leaves.who.User(), "pid", leaves.who.PID, "connection", leaves.id)
	}
	return true
}

// first is the oldest of those whom may names, or of them the one whose requests take most, and how
// much those take; nil: there is none.
func (a *web) first(may func(client) bool, most bool) (first *WebConn, held int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for v := range a.open {
		switch {
		case !may(v.client):
		case first == nil, most && v.held > held, (!most || v.held == held) && v.id < first.id:
			first, held = v, v.held
		}
	}
	return first, held
}

// disconnect ends all.
func (a *web) disconnect() {
	for _, v := range a.conns() {
		_ = v.Close()
	}
}

// drain has each connection end with its next reply.
func (a *web) drain() {
	for _, s := range a.servers {
		s.http.SetKeepAlivesEnabled(false)
	}
}

// end answers who has come, unless there was a stop, and returns once all have gone.
func (a *web) end() {
	for _, v := range a.conns() {
		if v.idle() {
			v.goAway()
		}
	}
	late, cancel := clockguard.WithTimeout(a.ctx, a.config.Clock, latecomers)
	a.awaitEmpty(late)
	cancel()
	for _, v := range a.conns() {
		if !v.asking.Load() {
			_ = v.Close()
		}
	}
	a.awaitEmpty(a.ctx)
	for _, s := range a.servers { // last: it answers nothing that is read after it, though it had arrived before
		_ = s.http.Shutdown(a.ctx)
		_ = s.http.Close()
	}
	a.close()
	a.stop()
	a.serve.Wait()
	a.disconnect()
}

// leave has each connection end with its next reply: they are not handed to another process.
func (a *web) leave() {
	a.drain()
	ctx, cancel := clockguard.WithTimeout(context.Background(), a.config.Clock, leaveTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, a.stop)()
	a.end()
}

// awaitEmpty returns once all have gone, or with ctx.
func (a *web) awaitEmpty(ctx context.Context) {
	for a.many.Load() > 0 {
		select {
		case <-a.left:
		case <-ctx.Done():
			return
		}
	}
}
