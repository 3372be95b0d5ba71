package etcdtest

import (
	"net"
	"sync"
)

// gate lets connections through, or holds back all that is read from and written to
// them.
type gate struct {
	mu   sync.Mutex
	shut chan struct{} // not nil while shut; closed when opened
}

// close holds everything back until resume or open is called.
func (g *gate) close() (resume func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut == nil {
		g.shut = make(chan struct{})
	}
	return g.open
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut != nil {
		close(g.shut)
		g.shut = nil
	}
}

// pass waits while the gate is shut, or until the connection is closed.
func (g *gate) pass(closed <-chan struct{}) {
	for {
		g.mu.Lock()
		shut := g.shut
		g.mu.Unlock()
		if shut == nil {
			return
		}
		select {
		case <-shut:
		case <-closed:
			return
		}
	}
}

// gated is a listener whose connections go through a gate.
type gated struct {
	net.Listener
	gate *gate
}

func (l *gated) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &gatedConn{Conn: conn, gate: l.gate, closed: make(chan struct{})}, nil
}

type gatedConn struct {
	net.Conn
	gate   *gate
	once   sync.Once
	closed chan struct{}
}

func (c *gatedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.gate.pass(c.closed) // what came in meanwhile is held back, too
	return n, err
}

func (c *gatedConn) Write(b []byte) (int, error) {
	c.gate.pass(c.closed)
	return c.Conn.Write(b)
}

func (c *gatedConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}
