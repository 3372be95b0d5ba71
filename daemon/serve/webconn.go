//go:build unix

package serve

import (
	"io"
	"net"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/daemon/budget"
	"github.com/flakeward/flakeward/daemon/peercred"
)

// WebConn is a connection that speaks HTTP.
type WebConn struct {
	net.Conn // nil until Accept returns it
	client
	web    *web
	fd     int  // of which Conn is made
	http2  bool // it speaks HTTP/2
	in     io.Reader
	hosts  hosts
	asking atomic.Bool
	since  atomic.Int64 // when its last request ended; 0: it had none
	told   bool         // that it is to end, as it was idle

	// web.mu guards the rest.
	account budget.Account
	held    int // bytes of it that are for requests
}

// Client is the connection's number, and who opened it.
func (v *WebConn) Client() (id int64, who peercred.Credentials) { return v.id, v.who }

// Asking says whether a request is under way whose header was read.
func (v *WebConn) Asking(is bool) {
	if !is {
		v.since.Store(int64(v.web.config.Clock.Now().Mono))
	}
	v.asking.Store(is)
}

// idle reports whether a request has ended and none is under way.
func (v *WebConn) idle() bool { return v.since.Load() != 0 && !v.asking.Load() }

// Hold says that so many bytes more are kept for requests of the connection; below 0: fewer. Where
// that is more than the budget allows, connections of the user for whom most is kept are ended.
func (v *WebConn) Hold(by int) {
	v.web.mu.Lock()
	v.held += by
	v.web.mu.Unlock()
	v.charge(by)
}

// charge adds to the connection's account, unless it has ended.
func (v *WebConn) charge(by int) {
	a := v.web
	a.mu.Lock()
	_, open := a.open[v]
	over := open && v.account.Hold(v.account.Held()+by) && by > 0
	a.mu.Unlock()
	if over && a.tooMuch != nil {
		a.tooMuch()
	}
}

// aheadBytes is how much of a connection of HTTP/2 is read at once. net/http reads the header of
// each frame and its rest apart, which would be a system call each.
const aheadBytes = 4 << 10

// Read is called by one goroutine at a time.
func (v *WebConn) Read(b []byte) (int, error) {
	n, err := v.in.Read(b)
	if !v.http2 {
		v.hosts.read(b[:n])
	}
	return n, err
}

// inTurn reads what the system has of a connection. What is read of HTTP/2 may begin a hundred
// requests.
type inTurn struct{ of *WebConn }

func (r inTurn) Read(b []byte) (int, error) {
	n, err := r.of.Conn.Read(b)
	if n > 0 && (r.of.http2 || r.of.web.many.Load() > fewWeb) {
		r.of.web.turns.Pass(r.of.web.ctx, r.of.user())
	}
	return n, err
}

// Close ends the connection. It may be called more than once.
func (v *WebConn) Close() error {
	v.web.mu.Lock()
	_, open := v.web.open[v]
	delete(v.web.open, v)
	v.web.mu.Unlock()
	if !open {
		return net.ErrClosed
	}
	defer v.web.ended(v)
	return v.Conn.Close()
}

// goingAway is the frame that has a client of HTTP/2 open no stream any more, and end the
// connection when its last one is through. Its last stream is the highest there can be: whatever
// has been sent is answered.
var goingAway = []byte{0, 0, 8, 7, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0}

// goAway sends that frame on a connection that is idle, if it speaks HTTP/2, and reports whether it
// does: net/http sends its own with a reply alone. Nothing else is half sent then.
func (v *WebConn) goAway() bool {
	of, ok := v.Conn.(syscall.Conn)
	if !v.http2 || !ok {
		return false
	}
	if raw, err := of.SyscallConn(); err == nil {
		// It waits for a write that is under way: until the client reads, or the connection is
		// closed.
		v.web.serve.Go(func() {
			_ = raw.Write(func(fd uintptr) bool {
				_, _ = unix.Write(int(fd), goingAway) // a client that has left no room for 17 bytes hears nothing
				return true
			})
		})
	}
	return true
}
