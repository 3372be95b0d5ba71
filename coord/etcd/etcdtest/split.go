package etcdtest

import (
	"errors"
	"net"
	"sync"
)

// split gives the connections of a listener to one of two servers, as etcd does: those that begin
// like a request of HTTP/1 to web, and all others to rpc. Both end with the listener, which the
// first that is closed closes.
func split(l net.Listener) (rpc, web net.Listener) {
	s := &splitter{Listener: l, ended: make(chan struct{}), unread: map[net.Conn]bool{}}
	a, b := &part{s, make(chan net.Conn)}, &part{s, make(chan net.Conn)}
	go s.accept(a.conns, b.conns)
	return a, b
}

type splitter struct {
	net.Listener
	once  sync.Once
	ended chan struct{}

	mu     sync.Mutex
	unread map[net.Conn]bool // those that have not said anything yet
}

func (s *splitter) accept(rpc, web chan<- net.Conn) {
	defer s.Close()
	for {
		conn, err := s.Accept()
		if err != nil {
			return
		}
		go s.sort(conn, rpc, web)
	}
}

func (s *splitter) sort(conn net.Conn, rpc, web chan<- net.Conn) {
	s.mu.Lock()
	s.unread[conn] = true
	s.mu.Unlock()
	select {
	case <-s.ended:
		_ = conn.Close() // Close may not have seen it
		return
	default:
	}
	first := make([]byte, 1)
	n, err := conn.Read(first)
	s.mu.Lock()
	delete(s.unread, conn)
	s.mu.Unlock()
	to := rpc
	if n == 1 && first[0] == 'G' { // GET: HTTP/2 begins with PRI, and TLS with 22
		to = web
	}
	if err == nil {
		select {
		case to <- &begun{conn, first}:
			return
		case <-s.ended:
		}
	}
	_ = conn.Close() // nobody waits for it
}

// Close also ends the connections that nobody has got.
func (s *splitter) Close() error {
	err := errors.New("closed before")
	s.once.Do(func() {
		close(s.ended)
		err = s.Listener.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		for conn := range s.unread {
			_ = conn.Close() // its Read says so
		}
	})
	return err
}

// part is the listener of one of the two.
type part struct {
	*splitter
	conns chan net.Conn
}

func (p *part) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}

// begun is a connection of which the first byte was read.
type begun struct {
	net.Conn
	first []byte
}

func (b *begun) Read(p []byte) (int, error) {
	if len(b.first) > 0 && len(p) > 0 {
		n := copy(p, b.first)
		b.first = b.first[n:]
		return n, nil
	}
	return b.Conn.Read(p)
}
