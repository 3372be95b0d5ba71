package load_test

import (
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/flakeward/flakeward/e2e/load"
	"github.com/flakeward/flakeward/internal/sockettest"
)

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

func TestStream(t *testing.T) {
	var ids counting
	socket := fake(t, func(c net.Conn, request string) bool {
		reply := ids.reply(request)
		if ids.next%100 == 50 {
			reply += "-UNAVAILABLE wait\r\n"
		}
		_, err := io.WriteString(c, reply)
		return err == nil
	})
	s, err := load.OpenStream(t.Context(), socket, 50_000)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := s.Await(t.Context(), 500); err != nil {
			t.Fatal(err)
		}
	}
	if s.LongestGap() <= 0 {
		t.Error("there was no time between answers")
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

func TestStreamEnds(t *testing.T) {
	var ids counting
	socket := fake(t, func(c net.Conn, request string) bool {
		_, _ = io.WriteString(c, ids.reply(request))
		return ids.next < 100
	})
	s, err := load.OpenStream(t.Context(), socket, 50_000)
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
