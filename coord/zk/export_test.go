package zk

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/flakeward/flakeward/coord/claims"
	"github.com/flakeward/flakeward/coord/coordtest"
)

// Kind is exported to the tests of this package.
type Kind = kind

// Intercept makes every request of c go through f, which sends it with send.
func Intercept(c *Coordinator, f func(k Kind, send func() error) error) { c.store.client.through = f }

// Watch has c's requests go over the wire.
func Watch(c *Coordinator, wire *coordtest.Wire) {
	life := c.store.client.life.Done()
	Intercept(c, func(_ Kind, send func() error) error { return wire.Send(life, send) })
}

// Line is the network as a test sees it: what c connects to, and the sessions that
// servers give it.
type Line struct {
	mu     sync.Mutex
	conn   net.Conn
	answer []byte // to the request for the last session
	Dialed int
	// Address, if not empty, is where every connection is made to.
	Address string
	// Through, if not nil, may replace a connection or refuse it.
	Through func(net.Conn) (net.Conn, error)
}

// Tap puts the line between c and its servers.
func (l *Line) Tap(c *Coordinator) {
	next := c.store.client.network
	c.store.client.network = func(ctx context.Context, network, address string) (net.Conn, error) {
		if l.Address != "" {
			address = l.Address
		}
		conn, err := next(ctx, network, address)
		if err == nil && l.Through != nil {
			conn, err = l.Through(conn)
		}
		if err != nil {
			return nil, err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.Dialed++
		l.conn = &tapped{Conn: conn, l: l}
		return l.conn, nil
	}
}

// Cut ends the present connection.
func (l *Line) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		l.conn.Close()
	}
}

// answerLength is that of ZooKeeper 3.8: length, version, timeout, ID, password of
// 16 bytes with its length, and whether it is read-only.
const answerLength = 4 + 4 + 4 + 8 + 4 + 16 + 1

type tapped struct {
	net.Conn
	l    *Line
	seen []byte
}

func (t *tapped) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	if missing := answerLength - len(t.seen); missing > 0 {
		t.seen = append(t.seen, p[:min(n, missing)]...)
		if len(t.seen) == answerLength {
			t.l.mu.Lock()
			t.l.answer = t.seen
			t.l.mu.Unlock()
		}
	}
	return n, err
}

// EndSession ends the last session that c was given, over connections of its own to
// the server, and returns when the server no longer knows it.
func (l *Line) EndSession(ctx context.Context, server string) error {
	l.mu.Lock()
	answer := l.answer
	l.mu.Unlock()
	if answer == nil {
		return nil
	}
	var err error
	for ctx.Err() == nil {
		var gone bool
		// The client may take the session back at any time: then this connection
		// ends, or gets no answer.
		once, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		gone, err = endSession(once, server, answer)
		cancel()
		if gone {
			return nil
		}
	}
	return errors.Join(ctx.Err(), err)
}

// endSession resumes the session and ends it. It reports whether it had ended before.
func endSession(ctx context.Context, server string, answer []byte) (gone bool, err error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", server)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	// The request: version, last zxid seen, timeout, ID, password.
	request := make([]byte, 12, 44)
	request = append(append(request, answer[8:12]...), answer[12:40]...)
	if err := sendFrame(conn, request); err != nil {
		return false, err
	}
	reply, err := readFrame(conn)
	if err != nil {
		return false, fmt.Errorf("resume the session: %w", err)
	}
	if len(reply) < 16 || binary.BigEndian.Uint64(reply[8:]) == 0 {
		return true, nil
	}
	closing := []byte{0, 0, 0, 1, 0xff, 0xff, 0xff, 0xf5} // request 1, operation -11
	if err := sendFrame(conn, closing); err != nil {
		return false, err
	}
	if _, err := readFrame(conn); err != nil {
		return false, fmt.Errorf("end the session: %w", err)
	}
	return false, nil
}

func sendFrame(w io.Writer, b []byte) error {
	_, err := w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...))
	return err
}

func readFrame(r io.Reader) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(length[:]))
	_, err := io.ReadFull(r, b)
	return b, err
}

// Store returns what c keeps its tree in.
func Store(c *Coordinator) claims.Store { return c.store }

// Rivals returns who was created before the node of that name.
func Rivals(ctx context.Context, s claims.Store, name string) ([]claims.Node, error) {
	node, _ := claims.ParseName(name)
	return s.(*store).rivals(ctx, node)
}

// SetTimeout bounds each request of c from now on.
func SetTimeout(c *Coordinator, d time.Duration) { c.store.client.config.TryTimeout = d }

// Notice waits until c has noticed that the session of that ID is not connected.
func Notice(ctx context.Context, c *Coordinator, id int64) error {
	c.store.client.mu.Lock()
	n := c.store.client.session
	c.store.client.mu.Unlock()
	for n != nil && ctx.Err() == nil {
		n.mu.Lock()
		up, now := n.up, n.id
		n.mu.Unlock()
		if !up || now != id {
			break
		}
		wait(ctx, time.Millisecond)
	}
	return ctx.Err()
}

// SessionID returns the present session's.
func SessionID(c *Coordinator) int64 {
	c.store.client.mu.Lock()
	defer c.store.client.mu.Unlock()
	if c.store.client.session == nil {
		return 0
	}
	return c.store.client.session.conn.SessionID()
}

// TokenOf is the name of a layout's child.
func TokenOf(layout string) string { return tokenOf([]byte(layout)) }
