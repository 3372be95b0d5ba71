package load

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// ended reports whether err is how a connection ends when the other side closes it or is killed,
// rather than a mistake in what it sent. A reset is what the kernel makes of a close that left
// requests unread.
func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// unreached reports whether err is how a dial ends when no process listens on the socket, or the
// one that did has just been killed.
func unreached(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNRESET)
}
