package zk

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/secure"
)

// wire is a connection to a server. It watches the answer to the library's request
// for a session, which the library waits for too long and whose length it believes.
type wire struct {
	net.Conn
	d      *dialer
	target target
	wait   time.Duration      // for the answer
	cancel context.CancelFunc // of the wait for the answer
	stop   func() bool        // keeps the end of that wait from closing the connection

	// Used by the one goroutine that reads. Until the answer is there it writes too.
	opened  bool          // the answer is there
	head    []byte        // of the answer: length, protocol, timeout, ID
	left    int           // of the answer, after head
	timeout time.Duration // of the session
}

// The answer is a length of four bytes, and then that many: a protocol version of
// four, the timeout in milliseconds of four, the session's ID of eight and its
// password with its length; later versions of ZooKeeper append a byte.
const (
	headSize   = 20
	answerSize = 1024 // no answer is longer
)

func newWire(d *dialer, conn net.Conn) *wire {
	ctx, cancel := context.WithTimeout(d.life, d.wait)
	return &wire{Conn: conn, d: d, target: d.now, wait: d.wait, cancel: cancel, stop: context.AfterFunc(ctx, func() { conn.Close() })}
}

func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if w.opened {
		return n, err
	}
	if err == nil {
		err = w.watch(p[:n])
	}
	if err != nil {
		err = w.explain(err)
		w.d.note(err)
		return 0, err // nobody is to believe what was read
	}
	return n, nil
}

// Write does not tell that it failed once the session is open: it ends the connection,
// which the library's reader notices. To be told twice is too much for the library. It
// fails a request whose write failed, and when the connection ends it fails that again
// with all others; but the user's, which is given anew to each connection, has room for
// one answer only. The second would wait for ever, and with it the goroutine that
// connects and the lock that all requests need.
func (w *wire) Write(p []byte) (int, error) {
	n, err := w.Conn.Write(p)
	if err == nil || !w.opened {
		return n, err
	}
	_ = w.Close() // there is nobody to tell
	return len(p), nil
}

// watch sees the next bytes of the answer.
func (w *wire) watch(p []byte) error {
	if take := min(len(p), headSize-len(w.head)); take > 0 {
		w.head, p = append(w.head, p[:take]...), p[take:]
		if len(w.head) < 4 {
			return nil
		}
		size := binary.BigEndian.Uint32(w.head)
		if size < headSize-4 || size > answerSize {
			return errStrange
		}
		if len(w.head) < headSize {
			return nil
		}
		timeout := int32(binary.BigEndian.Uint32(w.head[8:]))
		// Without an ID there is no session, and so no timeout. Of a session that has
		// none, the library makes a ticker of no time, which panics.
		if id := binary.BigEndian.Uint64(w.head[12:]); id != 0 && timeout <= 0 {
			return errStrange
		}
		w.timeout = time.Duration(timeout) * time.Millisecond
		w.left = int(size) - (headSize - 4)
	}
	if w.left -= len(p); w.left <= 0 {
		w.opened = true
		w.stop()
		w.cancel()
	}
	return nil
}

var errStrange = errors.New("the answer is not ZooKeeper's")

// explain says why a connection was made, but no session. What a request says of it is what the server
// answers when it is asked why.
func (w *wire) explain(err error) error {
	if errors.Is(err, net.ErrClosed) {
		w.d.wait = min(2*w.wait, lastWait)
		return fmt.Errorf("%s took the connection but opened no session within %v", w.target.address, w.wait)
	}
	closed := errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)
	err = secure.Explain(err)
	if closed && w.d.hadSession() {
		err = fmt.Errorf("%w: %w", coord.ErrTurnedAway, err)
	}
	return fmt.Errorf("%s opened no session (%w)", w.target.address, err)
}

// Close also ends the wait for the answer.
func (w *wire) Close() error {
	w.stop()
	w.cancel()
	return w.Conn.Close()
}
