// Package faultproxy is a TCP proxy for tests, between a client and a server that
// neither know of it: it refuses, cuts and holds back what passes, when it is
// told to. It never waits for a time, so a test decides what happens before what.
package faultproxy

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
)

// Proxy forwards each connection that is made to Address to the target. Its methods
// are safe for concurrent use; each of them acts on what has not been forwarded yet.
type Proxy struct {
	target   string
	listener net.Listener
	ctx      context.Context // ends with the proxy
	end      context.CancelFunc
	parts    sync.WaitGroup

	mu      sync.Mutex
	changed chan struct{} // closed and made anew when any of what follows changes
	mode    mode
	links   map[*link]bool
	kept    int64 // of requests that have arrived
}

type mode uint8

const (
	open mode = iota
	shut
	hanging
)

// Listen starts a proxy on a loopback port that the system chose. It ends with the
// test. The target is host:port and need not be there yet: a connection that cannot
// be passed on is reset.
func Listen(t testing.TB, target string) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("the proxy cannot listen: %v", err)
	}
	ctx, end := context.WithCancel(context.Background())
	p := &Proxy{
		target: target, listener: listener, ctx: ctx, end: end,
		changed: make(chan struct{}), links: map[*link]bool{},
	}
	p.parts.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// Address is where the proxy listens, as host:port.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// close ends the proxy and all connections.
func (p *Proxy) close() {
	p.end()
	_ = p.listener.Close()
	p.CutAll()
	p.parts.Wait()
}

// CutAll cuts every connection, and resets those that are made from now on, as a
// host does on which nothing listens.
func (p *Proxy) CutAll() {
	p.change(func() {
		p.mode = shut
		for l := range p.links {
			l.cut()
		}
	})
}

// Hang forwards nothing in either direction, and accepts connections without passing
// them on, as a network that loses every packet.
func (p *Proxy) Hang() { p.change(func() { p.mode = hanging }) }

// Open forwards everything again. What Hang kept back goes on.
func (p *Proxy) Open() { p.change(func() { p.mode = open }) }

// Kept returns how many bytes of clients' requests have arrived and are not passed on to the
// server, as while it hangs.
func (p *Proxy) Kept() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kept
}

// change changes what the pumps go by, and has them look again.
func (p *Proxy) change(what func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	what()
	close(p.changed)
	p.changed = make(chan struct{})
}

// link is one connection from end to end.
type link struct {
	client net.Conn
	ended  chan struct{} // closed by cut
	once   sync.Once

	// Guarded by the proxy's mu.
	server net.Conn // nil until it is dialed
}

// cut ends both sides. The bytes that were forwarded before arrive. The proxy's mu is held.
func (l *link) cut() {
	l.once.Do(func() {
		close(l.ended)
		_ = l.client.Close()
		if l.server != nil {
			_ = l.server.Close()
		}
	})
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed; a listener of one's own on loopback fails in no other way
		}
		p.parts.Go(func() { p.serve(client) })
	}
}

func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// serve lives as long as the connection.
func (p *Proxy) serve(client net.Conn) {
	l := &link{client: client, ended: make(chan struct{})}
	p.mu.Lock()
	refused := p.mode == shut
	if !refused {
		p.links[l] = true
	}
	p.mu.Unlock()
	if refused {
		reset(client)
		return
	}
	defer p.change(func() {
		l.cut()
		delete(p.links, l)
	})
	if !p.await(l, func() bool { return p.mode != hanging }) {
		return
	}
	var dialer net.Dialer
	server, err := dialer.DialContext(p.ctx, "tcp", p.target)
	if err != nil {
		reset(client)
		return
	}
	p.mu.Lock()
	l.server = server
	p.mu.Unlock()
	select {
	case <-l.ended: // before cut could see the server's side
		_ = server.Close()
		return
	default:
	}
	var pumps sync.WaitGroup
	pumps.Go(func() { p.pump(l, client, server, false) })
	pumps.Go(func() { p.pump(l, server, client, true) })
	pumps.Wait()
}

// await waits until ready, or the link is cut, and reports whether it is ready. Ready is called
// with mu held.
func (p *Proxy) await(l *link, ready func() bool) bool {
	for {
		p.mu.Lock()
		done, changed := ready(), p.changed
		p.mu.Unlock()
		select {
		case <-l.ended:
			return false
		default:
		}
		if done {
			return true
		}
		select {
		case <-changed:
		case <-l.ended:
			return false
		}
	}
}

// pump forwards one direction until it ends, and then ends the connection: no client of ours
// half-closes one.
func (p *Proxy) pump(l *link, from io.Reader, to io.Writer, reply bool) {
	defer p.change(l.cut)
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && !p.forward(l, buffer[:n], to, reply) {
			return
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				return
			}
			// The end is as late as what was sent before it.
			p.await(l, func() bool { return p.mode != hanging })
			return
		}
	}
}

func (p *Proxy) keep(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept += n
}

// forward passes b on as soon and as far as it may, and reports whether the connection goes on.
func (p *Proxy) forward(l *link, b []byte, to io.Writer, reply bool) bool {
	if !reply {
		p.keep(int64(len(b)))
		defer p.keep(-int64(len(b)))
	}
	if !p.await(l, func() bool { return p.mode != hanging }) {
		return false
	}
	_, err := to.Write(b)
	return err == nil
}
