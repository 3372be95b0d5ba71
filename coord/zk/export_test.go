package zk

import (
	"context"
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

// Line is the network as a test sees it: what c connects to.
type Line struct {
	mu     sync.Mutex
	conn   net.Conn
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
		l.conn = conn
		return conn, nil
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

// closing is the request that ends a session: its length, a number that no request of the library
// has, and operation -11.
const closing = "\x00\x00\x00\x08" + "\x7f\xff\xff\xff" + "\xff\xff\xff\xf5"

// EndSession has the server end the session of c, if there is one, and waits until c has noticed:
// the server ends the connection then.
func (l *Line) EndSession(ctx context.Context, c *Coordinator) error {
	c.store.client.mu.Lock()
	n := c.store.client.session
	c.store.client.mu.Unlock()
	if n == nil {
		return nil
	}
	select {
	case <-n.gate():
	case <-ctx.Done():
		return ctx.Err()
	}
	was := n.connection()
	l.mu.Lock()
	_, err := l.conn.Write([]byte(closing))
	l.mu.Unlock()
	for up := true; err == nil && up; err = ctx.Err() {
		wait(ctx, time.Millisecond)
		n.mu.Lock()
		up = n.up && n.number == was
		n.mu.Unlock()
	}
	return err
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
