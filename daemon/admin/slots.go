package admin

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// slots is a listener that has at most so many connections open at once. Once they are, a newcomer
// gets the place of an idle one: otherwise whoever connects and says nothing would keep out probes.
type slots struct {
	net.Listener
	most int
	free chan struct{} // a connection has closed, or is idle
	done chan struct{} // closed by Close
	end  sync.Once

	mu   sync.Mutex
	turn uint64 // numbers what happens
	open map[*slot]struct{}
	from map[string]int // connections by their address
}

// slot is a connection.
type slot struct {
	net.Conn
	of    *slots
	from  string
	since uint64 // the turn since which it is idle
	busy  int    // requests with credentials that are being answered
	close sync.Once
	err   error // of the close
}

func newSlots(l net.Listener, most int) *slots {
	return &slots{
		Listener: l, most: most, free: make(chan struct{}, 1), done: make(chan struct{}),
		open: make(map[*slot]struct{}), from: make(map[string]int),
	}
}

// Accept implements net.Listener.
func (s *slots) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	if err != nil {
		return nil, err
	}
	from, _, _ := net.SplitHostPort(c.RemoteAddr().String())
	newcomer := &slot{Conn: c, of: s, from: from}
	for !s.enter(newcomer) {
		if idle := s.idle(); idle != nil {
			_ = idle.Close() // its client connects again if it wants something
			continue
		}
		select {
		case <-s.free:
		case <-s.done:
			_ = c.Close() // nothing was read of it
			return nil, net.ErrClosed
		}
	}
	return newcomer, nil
}

// Close implements net.Listener.
func (s *slots) Close() error {
	s.end.Do(func() { close(s.done) })
	return s.Listener.Close()
}

// enter takes a place for a newcomer if there is one.
func (s *slots) enter(newcomer *slot) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) >= s.most {
		return false
	}
	s.turn++
	newcomer.since = s.turn
	s.open[newcomer] = struct{}{}
	s.from[newcomer.from]++
	return true
}

// idle finds the connection that is to make room: of those that are idle, one whose address has most
// connections, and among these the one that has been idle for longest; nil: all are busy.
func (s *slots) idle() (found *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		if c.busy == 0 && (found == nil || cmp.Or(cmp.Compare(s.from[c.from], s.from[found.from]), cmp.Compare(found.since, c.since)) > 0) {
			found = c
		}
	}
	return found
}

// Close implements net.Conn.
func (c *slot) Close() error {
	c.close.Do(func() {
		c.err = c.Conn.Close()
		c.of.left(c)
	})
	return c.err
}

func (s *slots) left(c *slot) {
	s.mu.Lock()
	delete(s.open, c)
	if s.from[c.from]--; s.from[c.from] == 0 {
		delete(s.from, c.from)
	}
	s.mu.Unlock()
	s.notify()
}

// answer notes that so many requests more are being answered on a connection; below 0: fewer.
func (s *slots) answer(c *slot, by int) {
	s.mu.Lock()
	s.turn++
	c.busy += by
	c.since = s.turn
	idle := c.busy == 0
	s.mu.Unlock()
	if idle {
		s.notify()
	}
}

func (s *slots) notify() {
	select {
	case s.free <- struct{}{}:
	default:
	}
}

type slotKey struct{}

// Attend has a server note which of its connections are busy with requests of clients that may ask.
// All others are idle, whatever they have sent.
func (s *Server) Attend(h *http.Server) {
	handler, meet := h.Handler, h.ConnContext
	h.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		of := c
		if over, ok := c.(*tls.Conn); ok {
			of = over.NetConn()
		}
		if of, ok := of.(*slot); ok {
			ctx = context.WithValue(ctx, slotKey{}, of)
		}
		return meet(ctx, c)
	}
	h.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(slotKey{}).(*slot); ok && s.known(r) {
			c.of.answer(c, 1)
			defer c.of.answer(c, -1)
		}
		handler.ServeHTTP(w, r)
	})
}
