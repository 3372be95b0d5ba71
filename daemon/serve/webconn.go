//go:build unix

package serve

import (
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/daemon/budget"
	"github.com/flakeward/flakeward/daemon/peercred"
)

// WebConn is a connection that speaks HTTP.
type WebConn struct {
	net.Conn // nil until Accept returns it
	client
	web    *web
	read   []byte // what was read of it, and not given on
	ahead  []byte // room to read ahead in; nil: it does not speak HTTP/2
	header header // of the request that is read, over HTTP/1
	asking atomic.Bool
	asked  atomic.Uint64 // requests

	// Of the look for who is idle.
	before uint64        // requests at the last look
	quiet  time.Duration // without one
	told   bool          // that it is to end

	// web.mu guards the rest.
	fd      int // while there is no Conn; -1 without one
	account budget.Account
	held    int // bytes of it that are for requests
}

// Client is the connection's number, and who opened it.
func (v *WebConn) Client() (id int64, who peercred.Credentials) { return v.id, v.who }

// Asking says whether a request is under way whose header was read.
func (v *WebConn) Asking(is bool) {
	if is {
		v.asked.Add(1)
	} else { // nothing is read meanwhile
		v.header.next()
	}
	v.asking.Store(is)
}

// Hold says that so many bytes more are kept for requests of the connection; below 0: fewer. Where
// that is more than the budget allows, connections of the user for whom most is kept are ended.
func (v *WebConn) Hold(by int) {
	a := v.web
	a.mu.Lock()
	over := false
	if a.has(v) {
		v.held += by
		over = v.account.Hold(v.account.Held()+by) && by > 0
	}
	a.mu.Unlock()
	if over && a.tooMuch != nil {
		a.tooMuch()
	}
}

// aheadBytes is how much of a connection of HTTP/2 is read at once. net/http reads the header of
// each frame and its rest apart, which would be a system call each.
const aheadBytes = 4 << 10

// Read reads what was read before first. It is called by one goroutine at a time.
//
// Beside a handler, net/http reads a single byte of HTTP/1, so as to notice that the client has
// gone. It would stop to look with the first byte of a next request, so that byte is held back.
func (v *WebConn) Read(b []byte) (int, error) {
	n, err := v.readSome(b)
	if v.ahead == nil {
		if own := v.header.read(b[:n]); own < n {
			v.read = slices.Concat(b[own:n], v.read)
			n = own
		}
	}
	if n == 1 && len(b) == 1 && err == nil && v.ahead == nil {
		err = v.awaitHangup()
	}
	return n, err
}

// awaitHangup returns io.EOF once the client has closed its sending side, whatever is unread, or nil
// once the read deadline has passed, by which net/http ends its read.
func (v *WebConn) awaitHangup() error {
	of, ok := v.Conn.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := of.SyscallConn()
	if err == nil {
		err = raw.Read(func(fd uintptr) bool { // called again with each event
			poll := []unix.PollFd{{Fd: int32(fd), Events: hangup}}
			n, _ := unix.Poll(poll, 0)
			return n > 0
		})
	}
	switch {
	case err == nil:
		return io.EOF
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil
	}
	return err
}

func (v *WebConn) readSome(b []byte) (int, error) {
	if len(v.read) == 0 {
		into, ahead := b, len(b) < len(v.ahead)
		if ahead {
			into = v.ahead
		}
		n, err := v.Conn.Read(into)
		if n > 0 && (v.ahead != nil || v.web.many.Load() > fewWeb) {
			v.web.reads.Pass(v.web.ctx, v.user()) // what is read of HTTP/2 may begin a hundred requests
		}
		if !ahead || n == 0 {
			return n, err
		}
		v.read = v.ahead[:n]
	}
	n := copy(b, v.read)
	if v.read = v.read[n:]; len(v.read) == 0 {
		v.read = nil
	}
	return n, nil
}

// Close ends the connection. It may be called more than once.
func (v *WebConn) Close() error {
	v.web.mu.Lock()
	open := v.web.remove(v)
	c := v.Conn
	v.web.mu.Unlock()
	if !open {
		return net.ErrClosed
	}
	defer v.web.counts.end(v.user())
	if c == nil {
		return unix.Close(v.fd)
	}
	return c.Close()
}

// goAway is the frame that has a client of HTTP/2 open no stream any more, and end the connection
// when its last one is through. Its last stream is the highest there can be: whatever has been sent
// is answered.
var goAway = []byte{0, 0, 8, 7, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0}

// GoAway sends that frame on a connection that has been idle for a while, if it speaks HTTP/2, and
// reports whether it does: net/http sends its own with a reply alone. Nothing else is half sent
// then.
func (v *WebConn) GoAway() bool {
	v.web.mu.Lock()
	c := v.Conn
	v.web.mu.Unlock()
	of, ok := c.(syscall.Conn)
	if v.ahead == nil || !ok {
		return false
	}
	if raw, err := of.SyscallConn(); err == nil {
		_ = raw.Write(func(fd uintptr) bool {
			_, _ = unix.Write(int(fd), goAway) // a client that has left no room for 17 bytes hears nothing
			return true
		})
	}
	return true
}
