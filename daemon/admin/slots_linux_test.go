package admin

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/flakeward/flakeward/internal/must"
)

// serve answers at an address. The reply to /slow takes until the test's end.
func serve(t *testing.T, c Config) (address string) {
	t.Helper()
	s := must.Get(New(c))(t)
	l := must.Get(s.Listen())(t)
	over := make(chan struct{})
	h := &http.Server{
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context { return ctx },
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" {
				<-over
			}
			if s.Refuse(r, false) != nil {
				w.WriteHeader(http.StatusUnauthorized)
			}
		}),
	}
	s.Attend(h)
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(l) }()
	t.Cleanup(func() {
		close(over)
		_ = h.Close()
		<-ended
	})
	return l.Addr().String()
}

// dial connects from an address of this host.
func dial(t *testing.T, from, to string) net.Conn {
	t.Helper()
	c := must.Get((&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).Dial("tcp", to))(t)
	t.Cleanup(func() { _ = c.Close() })
	must.Do(t, c.SetDeadline(time.Now().Add(mostTime)))
	return c
}

// ask sends a request, and returns the status of the reply.
func ask(t *testing.T, c net.Conn, path, token string) int {
	t.Helper()
	must.Get(fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", path, token))(t)
	reply := must.Get(http.ReadResponse(bufio.NewReader(c), nil))(t)
	must.Get(io.Copy(io.Discard, reply.Body))(t)
	return reply.StatusCode
}

const (
	mostTime = 10 * time.Second // a reply takes

	one = "127.0.0.1"
	two = "127.0.0.2"
)

// Whoever holds all connections and says nothing, or nothing with the token, keeps nobody out.
func TestIdleConnectionsMakeRoomForANewcomer(t *testing.T) {
	const token = "0123456789abcdef"
	for name, hold := range map[string]func(t *testing.T, c net.Conn){
		"silent":        func(*testing.T, net.Conn) {},
		"half a header": func(t *testing.T, c net.Conn) { must.Get(io.WriteString(c, "GET / HTTP/1.1\r\n"))(t) },
		"no token": func(t *testing.T, c net.Conn) {
			if status := ask(t, c, "/v1/status", "wrong"); status != http.StatusUnauthorized {
				t.Errorf("without the token: %d", status)
			}
		},
		"a refusal that is not taken": func(t *testing.T, c net.Conn) {
			must.Get(io.WriteString(c, "GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n"))(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			address := serve(t, Config{Address: one + ":0", TokenFile: write(t, token)})
			neighbour := dial(t, two, address)
			if status := ask(t, neighbour, "/v1/status", token); status != http.StatusOK {
				t.Fatalf("before: %d", status)
			}
			first := dial(t, one, address)
			hold(t, first)
			for range connections {
				hold(t, dial(t, one, address))
			}
			for _, from := range []string{two, one} {
				if status := ask(t, dial(t, from, address), "/livez", ""); status != http.StatusOK {
					t.Errorf("a probe from %s: %d", from, status)
				}
			}
			if rest, err := io.ReadAll(first); len(rest) > 0 {
				t.Errorf("the first one that was idle is not closed: %q, %v", rest, err)
			}
			if status := ask(t, neighbour, "/v1/status", token); status != http.StatusOK {
				t.Errorf("one whose address has few connections: %d", status)
			}
		})
	}
}

// A request that is being answered is not cut off: a newcomer waits where all are busy.
func TestBusyConnectionsStay(t *testing.T) {
	s := newSlots(must.Get(net.Listen("tcp", one+":0"))(t), 2)
	accepted := make(chan *slot)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := s.Accept()
			if err != nil {
				return
			}
			accepted <- c.(*slot)
		}
	}()
	newcomer := func() *slot {
		t.Helper()
		select {
		case c := <-accepted:
			return c
		case <-time.After(mostTime):
			t.Fatal("no connection is accepted")
			return nil
		}
	}
	address := s.Addr().String()
	dial(t, one, address)
	first := newcomer()
	s.answer(first, 1)
	dial(t, one, address)
	second := newcomer()
	s.answer(second, 1)
	dial(t, one, address)
	if idle := s.idle(); idle != nil {
		t.Error("a busy connection would be closed")
	}
	s.answer(second, -1)
	third := newcomer()
	if _, err := second.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		t.Errorf("the one that became idle is open: %v", err)
	}
	s.answer(third, 1)
	waiting := dial(t, one, address)
	must.Do(t, s.Close())
	<-ended
	if _, err := waiting.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		t.Errorf("after the end, one that waits is open: %v", err)
	}
}
