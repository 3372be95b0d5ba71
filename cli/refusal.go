package cli

import (
	"bytes"
	"errors"
	"net"
	"syscall"
)

// refusing is a connection whose daemon may refuse it unasked and close it at once, as it does when
// it has too many. A request then fails with EPIPE, although the reason is there to be read.
type refusing struct {
	net.Conn
	refusal string // that was read last
}

// endsConnection reports whether a reply is an error after which a daemon closes the connection.
func endsConnection(line []byte) bool {
	for _, text := range []string{"-ERR too many connections", "-ERR too much memory", "-ERR not allowed"} {
		if bytes.HasPrefix(line, []byte(text)) {
			return true
		}
	}
	return false
}

// refusedError is such a reason.
type refusedError string

func (e refusedError) Error() string { return string(e) }

// Write tells the daemon's reason for a connection that it has closed.
func (c *refusing) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		return n, err
	}
	if c.refusal == "" {
		var reply [1 << 10]byte
		_, _ = c.Read(reply[:])
	}
	if c.refusal != "" {
		err = refusedError(c.refusal)
	}
	return n, err
}

// Read remembers an error that the daemon sent, and tells it again if nothing follows.
func (c *refusing) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.refusal = ""
		if line, _, whole := bytes.Cut(b[:n], []byte("\r\n")); whole && endsConnection(line) {
			c.refusal = string(line[1:])
		}
	} else if err != nil && c.refusal != "" { // it was the last that the daemon said
		err = refusedError(c.refusal)
	}
	return n, err
}
