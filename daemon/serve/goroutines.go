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

	"github.com/flakeward/flakeward/daemon/resp"
)

// goroutines is the engine for systems without epoll: a goroutine for each connection. It keeps the
// same promises as the event loop, except for the order among connections that wait for IDs.
type goroutines struct {
	config Config
	counts *counts
	ctx    context.Context // ends with stop
	cancel context.CancelFunc
	ended  sync.WaitGroup // the connections', and one more until drain or stop
	over   sync.Once      // that one's end

	mu       sync.Mutex
	conns    map[net.Conn]struct{}
	draining bool
	changed  context.Context // ends with the next change
	change   context.CancelFunc
}

func startGoroutines(c Config, n *counts) (*goroutines, error) {
	e := &goroutines{config: c, counts: n, conns: make(map[net.Conn]struct{})}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.changed, e.change = context.WithCancel(e.ctx)
	e.ended.Add(1)
	return e, nil
}

func (e *goroutines) add(c net.Conn, id int64) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ctx.Err() != nil || e.draining {
		_ = c.Close()
		return net.ErrClosed
	}
	e.conns[c] = struct{}{}
	e.ended.Add(1)
	go func() {
		defer e.ended.Done()
		e.converse(c, id)
		_ = c.Close()
		e.mu.Lock()
		delete(e.conns, c)
		e.mu.Unlock()
		e.counts.ended.Add(1)
	}()
	return nil
}

func (e *goroutines) wake() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.change()
	e.changed, e.change = context.WithCancel(e.ctx)
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

// converse answers one connection to its end.
func (e *goroutines) converse(c net.Conn, id int64) {
	handler := e.config.handler()
	session := resp.Session{ID: id}
	in := received{conn: c}
	var out []byte
	var reported resp.Tally
	for {
		changed := e.nextChange()
		used, replies, next := handler.Serve(&session, in.data, out[:0])
		in.use(used)
		tally := handler.Tally()
		e.counts.add(tally, reported)
		reported = tally
		if out = replies; e.send(c, out) != nil {
			return
		}
		switch next.State {
		case resp.Close:
			return
		case resp.Wait:
			e.pause(changed, next)
		case resp.Read:
			if !in.more() {
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
	conn net.Conn
	data []byte
	room []byte // what data is the beginning of
	last bool   // nothing more is read
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
	n, err := r.conn.Read(r.room[len(r.data):])
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
		if runtime.GOOS == "linux" { // elsewhere it would throw away what has been received
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
