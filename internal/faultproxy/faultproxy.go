// Package faultproxy is a TCP proxy for tests, between a client and a server that
// neither know of it: it refuses, cuts and holds back what passes, when it is
// told to. It never waits for a time, so a test decides what happens before what.
package faultproxy

import (
	"net"
	"sync"
	"testing"
)

// Proxy forwards each connection that is made to Address to the target. Its methods
// are safe for concurrent use; each of them acts on what has not been forwarded yet.
type Proxy struct {
	target   string
	listener net.Listener
	parts    sync.WaitGroup

	mu      sync.Mutex
	changed *sync.Cond // the mode
	mode    mode
	conns   map[net.Conn]bool // both sides of each connection
	kept    int64             // of requests that have arrived
}

type mode uint8

const (
	open mode = iota
	shut
	hanging
)

// Listen starts a proxy on a loopback port that the system chose. It ends with the test. The target
// is host:port and need not be there yet: a connection that cannot be passed on is reset.
func Listen(t testing.TB, target string) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("the proxy cannot listen: %v", err)
	}
	p := &Proxy{target: target, listener: listener, conns: map[net.Conn]bool{}}
	p.changed = sync.NewCond(&p.mu)
	p.parts.Go(p.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		p.CutAll()
		p.parts.Wait()
	})
	return p
}

// Address is where the proxy listens, as host:port.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// CutAll cuts every connection, and resets those that are made from now on, as a
// host does on which nothing listens.
func (p *Proxy) CutAll() { p.set(shut) }

// Hang forwards nothing in either direction, and accepts connections without passing
// them on, as a network that loses every packet.
func (p *Proxy) Hang() { p.set(hanging) }

// Open forwards everything again. What Hang kept back goes on.
func (p *Proxy) Open() { p.set(open) }

func (p *Proxy) set(m mode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = m
	if m == shut {
		for c := range p.conns {
			_ = c.Close()
		}
	}
	p.changed.Broadcast()
}

// Kept returns how many bytes of clients' requests have arrived and are not passed on to the
// server, as while it hangs.
func (p *Proxy) Kept() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kept
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

// serve lives as long as the connection.
func (p *Proxy) serve(client net.Conn) {
	if !p.add(client) {
		return
	}
	defer p.drop(client)
	p.await(0)
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		reset(client)
		return
	}
	if !p.add(server) {
		return
	}
	defer p.drop(server)
	var pumps sync.WaitGroup
	pumps.Go(func() { p.pump(client, server, true) })
	pumps.Go(func() { p.pump(server, client, false) })
	pumps.Wait()
}

// add has a connection cut with the others, and resets it where they are already.
func (p *Proxy) add(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mode == shut {
		reset(c)
		return false
	}
	p.conns[c] = true
	return true
}

func (p *Proxy) drop(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
	_ = c.Close()
}

func reset(c net.Conn) {
	_ = c.(*net.TCPConn).SetLinger(0)
	_ = c.Close()
}

// await keeps so many bytes of a request, as long as the proxy hangs.
func (p *Proxy) await(request int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept += int64(request)
	for p.mode == hanging {
		p.changed.Wait()
	}
	p.kept -= int64(request)
}

// pump forwards one direction until it ends, and then ends the connection, no earlier than what was
// sent before: no client of ours half-closes one.
func (p *Proxy) pump(from, to net.Conn, request bool) {
	defer from.Close()
	defer to.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if request {
			p.await(n)
		} else {
			p.await(0)
		}
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
