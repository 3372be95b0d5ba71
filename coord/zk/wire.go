package zk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/secure"
)

// wire is a connection to a server. It reads the answer to the library's request for a session,
// which the library would wait for too long and whose length it would believe.
type wire struct {
	net.Conn
	d      *dialer
	target target
	wait   time.Duration // for the answer

	// Used by the one goroutine that reads. Until the answer is there it writes too.
	opened  bool          // the answer is there
	answer  []byte        // what the library has not read of it yet
	timeout time.Duration // of the session
}

// The answer is a length of four bytes, and then that many: a protocol version of
// four, the timeout in milliseconds of four, the session's ID of eight and its
// password with its length; later versions of ZooKeeper append a byte.
const (
	leastAnswer = 16
	mostAnswer  = 1024
)

func newWire(d *dialer, conn net.Conn) *wire {
	return &wire{Conn: conn, d: d, target: d.now, wait: d.wait}
}

func (w *wire) Read(p []byte) (int, error) {
	if !w.opened {
		if err := w.open(); err != nil {
			err = w.explain(err)
			w.d.note(err)
			return 0, err // nobody is to believe what was read
		}
	}
	if len(w.answer) > 0 {
		n := copy(p, w.answer)
		w.answer = w.answer[n:]
		return n, nil
	}
	return w.Conn.Read(p)
}

// open reads the whole answer.
func (w *wire) open() error {
	err := w.SetReadDeadline(time.Unix(0, clock.Now().Wall).Add(w.wait))
	if err == nil {
		w.answer, w.timeout, err = readAnswer(w.Conn)
	}
	w.opened = err == nil
	return errors.Join(err, w.SetReadDeadline(time.Time{}))
}

// Write does not tell that it failed once the session is open: it ends the connection, which the
// library's reader notices. To be told twice is too much for the library. It fails a request whose
// write failed, and when the connection ends it fails that again with all others; but the user's,
// which is given anew to each connection, has room for one answer only. The second would wait for
// ever, and with it the goroutine that connects and the lock that all requests need.
func (w *wire) Write(p []byte) (int, error) {
	n, err := w.Conn.Write(p)
	if err == nil || !w.opened {
		return n, err
	}
	_ = w.Close() // there is nobody to tell
	return len(p), nil
}

// readAnswer returns the answer with the session's timeout.
func readAnswer(r io.Reader) (answer []byte, timeout time.Duration, err error) {
	answer = make([]byte, 4, mostAnswer)
	if _, err := io.ReadFull(r, answer); err != nil {
		return nil, 0, err
	}
	size := binary.BigEndian.Uint32(answer)
	if size < leastAnswer || size > mostAnswer {
		return nil, 0, errStrange
	}
	answer = append(answer, make([]byte, size)...)
	if _, err := io.ReadFull(r, answer[4:]); err != nil {
		return nil, 0, err
	}
	milliseconds := int32(binary.BigEndian.Uint32(answer[8:]))
	// Without an ID there is no session, and so no timeout. Of a session that has
	// none, the library makes a ticker of no time, which panics.
	if id := binary.BigEndian.Uint64(answer[12:]); id != 0 && milliseconds <= 0 {
		return nil, 0, errStrange
	}
	return answer, time.Duration(milliseconds) * time.Millisecond, nil
}

var errStrange = errors.New("the answer is not ZooKeeper's")

// explain says why a connection was made, but no session. What a request says of it is what the
// server answers when it is asked why.
func (w *wire) explain(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
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
