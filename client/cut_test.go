package client_test

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/flakeward/flakeward/client"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// script is a server on a real socket, each of whose connections does what it is told: it answers
// the n-th request with replies[n], and ends after the last.
type script struct {
	socket   string
	accepted atomic.Int64
}

const greeting = "$28\r\nmax_count:1000\ncluster_id:1\n\r\n"

func serveScript(t *testing.T, connections ...[]string) *script {
	t.Helper()
	s := &script{}
	s.socket = sockettest.Serve(t, func(number int, c *sockettest.Conn) {
		s.accepted.Store(int64(number) + 1)
		for _, reply := range connections[min(number, len(connections)-1)] {
			if _, err := sockettest.Request(c.In); err != nil {
				return
			}
			if _, err := io.WriteString(c, reply); err != nil && !errors.Is(err, syscall.EPIPE) {
				t.Error(err)
			}
		}
	})
	return s
}

// A reply is cut after each of its bytes: the request is made again, and nothing of the reply that
// was cut is handed out.
func TestCutReplies(t *testing.T) {
	lost := "*5\r\n:1\r\n:700\r\n:1\r\n:900\r\n:1\r\n"
	whole := "*3\r\n:1\r\n:1000\r\n:1\r\n"
	for cut := range len(greeting) {
		s := serveScript(t, []string{greeting[:cut]}, []string{greeting, whole})
		if id := nextID(t, open(t, s.socket)); id != 1000 {
			t.Errorf("the greeting cut after %d: %d", cut, id)
		}
	}
	for cut := range len(lost) {
		s := serveScript(t, []string{greeting, lost[:cut]}, []string{greeting, whole})
		runs, err := open(t, s.socket).Take(t.Context(), 2)
		if n := s.accepted.Load(); cut == 0 && n < 2 {
			t.Errorf("accepted %d", n)
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
		if id := nextID(t, c); id != want {
			t.Errorf("%d, want %d", id, want)
		}
	}
	var protocol *client.ProtocolError
	if _, err := c.Next(t.Context()); !errors.As(err, &protocol) {
		t.Errorf("%v", err)
	}
	if id := nextID(t, c); id != 4 {
		t.Errorf("%d, want 4", id)
	}
	redis := serveScript(t, []string{"$22\r\nredis_version:7.0.15\r\n\r\n"})
	if _, err := open(t, redis.socket, client.Timeout(time.Second)).Next(t.Context()); !errors.As(err, &protocol) {
		t.Errorf("of a Redis: %v", err)
	}
	full := serveScript(t, []string{"-ERR too many connections: the limit is 1; close some, or raise it\r\n"})
	var refused *client.RefusedError
	if _, err := open(t, full.socket, client.Timeout(time.Second)).Next(t.Context()); !errors.As(err, &refused) {
		t.Errorf("of a full daemon: %v", err)
	}
}
