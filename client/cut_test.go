package client_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/flakeward/flakeward/client"
)

// script is a server on a real socket, each of whose connections does what it is told: it answers
// the n-th request with replies[n], and ends after the last.
type script struct {
	t        *testing.T
	socket   string
	listener net.Listener
	group    sync.WaitGroup

	mu          sync.Mutex
	connections [][]string
	accepted    int
}

const greeting = "$15\r\nmax_count:1000\n\r\n"

func serveScript(t *testing.T, connections ...[]string) *script {
	t.Helper()
	s := &script{t: t, socket: filepath.Join(dir(t), "s"), connections: connections}
	var err error
	if s.listener, err = net.Listen("unix", s.socket); err != nil {
		t.Fatal(err)
	}
	s.group.Go(s.accept)
	t.Cleanup(func() {
		_ = s.listener.Close()
		s.group.Wait()
	})
	return s
}

func (s *script) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		replies := s.connections[min(s.accepted, len(s.connections)-1)]
		s.accepted++
		s.mu.Unlock()
		s.group.Go(func() {
			defer conn.Close() //nolint:errcheck // a test's
			in := bufio.NewReader(conn)
			for _, reply := range replies {
				if _, err := request(in); err != nil {
					return
				}
				if _, err := io.WriteString(conn, reply); err != nil && !errors.Is(err, syscall.EPIPE) {
					s.t.Error(err)
				}
			}
		})
	}
}

// A reply is cut after each of its bytes: the request is made again, and nothing of the reply that
// was cut is handed out.
func TestCutReplies(t *testing.T) {
	lost := "*5\r\n:1\r\n:700\r\n:1\r\n:900\r\n:1\r\n"
	whole := "*3\r\n:1\r\n:1000\r\n:1\r\n"
	for cut := range len(greeting) {
		s := serveScript(t, []string{greeting[:cut]}, []string{greeting, whole})
		if id := must(t, open(t, s.socket)); id != 1000 {
			t.Errorf("the greeting cut after %d: %d", cut, id)
		}
	}
	for cut := range len(lost) {
		s := serveScript(t, []string{greeting, lost[:cut]}, []string{greeting, whole})
		runs, err := open(t, s.socket).Take(t.Context(), 2)
		if cut == 0 {
			s.mu.Lock()
			if s.accepted < 2 {
				t.Errorf("accepted %d", s.accepted)
			}
			s.mu.Unlock()
		}
		if err != nil || runs[0] != (client.Run{First: 1000, N: 1, Step: 1}) {
			t.Errorf("the reply cut after %d: %v, %v", cut, runs, err)
		}
	}
}

// A connection that breaks after it has worked is made anew at once; one that answers the first
// request with garbage is not tried again.
func TestConnections(t *testing.T) {
	one := func(id int) string { return fmt.Sprintf("*3\r\n:1\r\n:%d\r\n:1\r\n", id) }
	s := serveScript(t, []string{greeting, one(1)}, []string{greeting, one(2), one(3)}, []string{greeting, "+OK\r\n"}, []string{greeting, one(4)})
	c := open(t, s.socket, client.MaxAge(0))
	for want := int64(1); want <= 3; want++ {
		if id := must(t, c); id != want {
			t.Errorf("%d, want %d", id, want)
		}
	}
	var protocol *client.ProtocolError
	if _, err := c.Next(t.Context()); !errors.As(err, &protocol) {
		t.Errorf("%v", err)
	}
	if id := must(t, c); id != 4 {
		t.Errorf("%d, want 4", id)
	}
	redis := serveScript(t, []string{"$21\r\nredis_version:7.0.15\r\n\r\n"})
	if _, err := open(t, redis.socket).Next(t.Context()); !errors.As(err, &protocol) {
		t.Errorf("of a Redis: %v", err)
	}
	full := serveScript(t, []string{"-ERR too many connections: the limit is 1; close some, or raise it\r\n"})
	var refused *client.RefusedError
	if _, err := open(t, full.socket).Next(t.Context()); !errors.As(err, &refused) {
		t.Errorf("of a full daemon: %v", err)
	}
}
