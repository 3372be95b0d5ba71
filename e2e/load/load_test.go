package load_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/flakeward/flakeward/e2e/load"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// What no daemon may answer ends a client, whether or not its end is waited for.
func TestClientThatIsAnsweredWrongly(t *testing.T) {
	for _, replies := range []string{":7\r\n:7\r\n", ":7\r\n:6\r\n", ":7\r\n-ERR no\r\n", ":7\r\n+OK\r\n"} {
		socket := fake(t, func(c net.Conn, _ string) bool {
			_, _ = io.WriteString(c, replies)
			return true
		})
		s, err := load.Open(t.Context(), socket, load.Config{Row: 2, Window: 1})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Await(t.Context(), 100); !errors.Is(err, load.ErrWrong) {
			t.Errorf("after %q: %v", replies, err)
		}
		if ids, _, err := s.Close(); !errors.Is(err, load.ErrWrong) || len(ids) == 0 || ids[0] != 7 {
			t.Errorf("after %q: %d, %v", replies, ids, err)
		}
	}
}

// fake is a daemon. For each request it calls reply with what was asked for.
func fake(t *testing.T, reply func(c net.Conn, request string) (goOn bool)) (socket string) {
	t.Helper()
	return sockettest.Serve(t, func(_ int, c *sockettest.Conn) {
		c.Answer(func(request string) (string, bool) { return "", reply(c, request) })
	})
}

// counting answers NEXT with IDs that rise by one.
type counting struct{ next int64 }

func (c *counting) reply(request string) string {
	if request != "NEXT" {
		return "-ERR " + request + "\r\n"
	}
	c.next++
	return fmt.Sprintf(":%d\r\n", c.next-1)
}

func TestClient(t *testing.T) {
	var ids counting
	requests := 0
	socket := fake(t, func(c net.Conn, request string) bool {
		reply := "-UNAVAILABLE wait\r\n"
		if requests++; requests%100 != 50 {
			reply = ids.reply(request)
		}
		_, err := io.WriteString(c, reply)
		return err == nil
	})
	s, err := load.Open(t.Context(), socket, load.Config{Rate: 50_000})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := s.Await(t.Context(), 500); err != nil {
			t.Fatal(err)
		}
	}
	if s.Longest() <= 0 {
		t.Error("no answer was waited for")
	}
	got, refused, err := s.Close()
	if err != nil {
		t.Error(err)
	}
	if len(got) < 1500 || refused < 15 {
		t.Errorf("%d IDs, %d refused", len(got), refused)
	}
	for i, id := range got {
		if id != int64(i) {
			t.Fatalf("ID %d came in place %d", id, i)
		}
	}
}

func TestClientWhoseDaemonEnds(t *testing.T) {
	var ids counting
	socket := fake(t, func(c net.Conn, request string) bool {
		_, _ = io.WriteString(c, ids.reply(request))
		return ids.next < 100
	})
	s, err := load.Open(t.Context(), socket, load.Config{Rate: 50_000})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Await(t.Context(), 1_000_000); err == nil {
		t.Error("waited for IDs that never came, and got them")
	}
	if ids, _, err := s.Close(); err == nil || len(ids) != 100 {
		t.Errorf("%d IDs, %v", len(ids), err)
	}
}
