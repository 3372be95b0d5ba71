package load_test

import (
	"errors"
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
