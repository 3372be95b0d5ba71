//go:build unix

package serve

import (
	"context"
	"errors"
	"net"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/budget"
	"github.com/flakeward/flakeward/daemon/resp"
)

// goroutines is the engine for systems without epoll: a goroutine for each connection. It keeps the
// same promises as the event loop, with three exceptions: the order among connections that wait for
// IDs, whose connection ends where the memory for clients is used up, and CLIENT LIST, which shows
// the own connection only.
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
	e.ended.Add(1)
	go func() {
		defer e.ended.Done()
		first := e.listen(c, g)
		if first != nil {
			e.converse(c, g, first)
			_ = c.Close()
		}
		e.mu.Lock()
		delete(e.conns, c)
		e.mu.Unlock()
		if first != nil {
			e.counts.end(g.user())
		}
	}()
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
		return
	}
	_ = leaves.Close()
	e.counts.refused[why].Add(1)
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
		_ = c.Close() // what its goroutine gets from now on, it cannot send
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
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cancel()
	for c := range e.conns {
		_ = c.Close()
	}
	e.over.Do(e.ended.Done)
}

func (e *goroutines) wait() {
	e.ended.Wait()
	e.cancel()
}

var longAgo = time.Unix(1, 0)

// nextChange is the change that a request which is tried from now on must not miss.
func (e *goroutines) nextChange() context.Context {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.changed
}

// listen reads until the connection's dialect is known, and returns what was read of it; nil if the
// HTTP server has the connection now.
func (e *goroutines) listen(c net.Conn, g client) *received {
	in := &received{conn: c, clock: e.config.Clock, idle: e.config.Limits.IdleTimeout}
	if e.config.HTTP == nil {
		return in
	}
	in.open = true
	defer func() { in.open = false }()
	for in.more() {
		switch dialectOf(in.data) {
		case speaksRESP:
			return in
		case speaksHTTP:
			e.mu.Lock()
			delete(e.conns, c)
			over := e.web.come(c, -1, g, e.config.Budget.Open(g.user()), in.data)
			e.mu.Unlock()
			if over {
				e.tooMuch(g.user())
			}
			return nil
		}
	}
	if in.idled {
		e.counts.refused[Idle].Add(1)
	}
	return in
}

// converse answers one connection to its end, of which was received what is given.
func (e *goroutines) converse(c net.Conn, g client, in *received) {
	handler := e.config.handler(nil)
	session := resp.Session{ID: g.id, Peer: g.who}
	account := e.config.Budget.Open(g.user())
	defer account.Hold(0)
	var out []byte
	defer func() {
		handler.Abandon(&session)
		_ = resp.Publish(handler)
	}()
	for {
		changed := e.nextChange()
		used, replies, next := handler.Serve(&session, in.data, out[:0])
		in.use(used)
		timed := resp.Publish(handler)
		out = replies
		// Whoever asks for more than there is leaves: that the one for whom most is kept does would
		// need all connections to be looked at together.
		if account.Hold(cap(in.room)+cap(out)+session.Held()) && cap(in.room)+cap(out) > 2*keptBuffer {
			e.counts.refused[Heavy].Add(1)
			_ = e.send(c, resp.Refuse(resp.TooMuchMemory, account.Held()>>10).Append(nil))
			return
		}
		if err := e.send(c, out); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				e.counts.refused[NotReading].Add(1)
			}
			return
		}
		if timed {
			resp.Observe(handler, e.config.Clock.Now().Mono)
		}
		switch next.State {
		case resp.Close:
			return
		case resp.Wait:
			e.counts.waiting.Add(1)
			e.pause(changed, next)
			e.counts.waiting.Add(-1)
		case resp.Read:
			if !in.more() {
				if in.idled {
					e.counts.refused[Idle].Add(1)
				}
				return
			}
		}
		if e.ctx.Err() != nil {
			return
		}
	}
}

func (e *goroutines) send(c net.Conn, replies []byte) error {
	if len(replies) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(e.ctx, e.config.Limits.WriteTimeout)
	defer cancel()
	deadline, _ := ctx.Deadline()
	if err := c.SetWriteDeadline(deadline); err != nil {
		return err
	}
	_, err := c.Write(replies)
	return err
}

func (e *goroutines) pause(changed context.Context, next resp.Next) {
	if !next.Event {
		changed = e.ctx
	}
	switch {
	case next.For > 0:
		_ = e.config.Clock.Sleep(changed, next.For)
	case next.Event:
		<-changed.Done()
	default:
		_ = e.config.Clock.Sleep(changed, vagueWait)
	}
}

// received is what a client has sent and is not used yet.
type received struct {
	conn  net.Conn
	data  []byte
	room  []byte // what data is the beginning of
	last  bool   // nothing more is read
	open  bool   // the client may send more nevertheless
	clock clockguard.Clock
	idle  time.Duration // after which nothing more is waited for; 0: never
	idled bool          // that has happened
}

func (r *received) use(n int) {
	r.data = r.room[:copy(r.room, r.data[n:])]
}

// more waits for the client to send more. It returns false if nothing more is to be answered.
func (r *received) more() bool {
	if r.last {
		return false
	}
	if len(r.data) == len(r.room) {
		r.room = append(make([]byte, 0, max(2*len(r.room), keptBuffer)), r.data...)
		r.room = r.room[:cap(r.room)]
	}
	stop := func() bool { return true }
	if r.idle > 0 {
		idle, cancel := clockguard.WithTimeout(context.Background(), r.clock, r.idle)
		defer cancel()
		stop = context.AfterFunc(idle, func() { _ = r.conn.Close() })
	}
	n, err := r.conn.Read(r.room[len(r.data):])
	r.idled = !stop()
	if errors.Is(err, os.ErrDeadlineExceeded) { // a drain has begun
		r.last = true
		n = r.rest()
		return n > 0
	}
	r.data = r.room[:len(r.data)+n]
	return n > 0
}

// mostRest bounds what is read at the end from a client that does not stop sending.
const mostRest = 1 << 20

// rest reads what has been received by now, and does not wait.
func (r *received) rest() (total int) {
	sc, ok := r.conn.(syscall.Conn)
	if !ok {
		return 0
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) {
		if runtime.GOOS == "linux" && !r.open { // elsewhere it would throw away what has been received
			_ = unix.Shutdown(int(fd), unix.SHUT_RD)
		}
		part := make([]byte, readAtOnce)
		for total < mostRest {
			n, _, err := unix.Recvfrom(int(fd), part, unix.MSG_DONTWAIT)
			if err != nil || n <= 0 {
				return
			}
			r.data = append(r.data, part[:n]...)
			total += n
		}
	})
	r.room = r.data[:cap(r.data)]
	return total
}
