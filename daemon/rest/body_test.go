package rest

import (
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/flakeward/flakeward/internal/must"
)

// Whoever has sent a form and goes is noticed as well.
func TestClientsThatSendAFormAndGoTakeNoIDs(t *testing.T) {
	s := start(t, "twitter", nil)
	s.set(0, nil)
	before := runtime.NumGoroutine()
	const post = "POST /v1/ids HTTP/1.1\r\nHost: f\r\nContent-Type: application/x-www-form-urlencoded\r\n"
	for name, send := range map[string]string{
		"a POST":           post + "\r\n",
		"a form":           post + "Content-Length: 7\r\n\r\ncount=3",
		"a form in chunks": post + "Transfer-Encoding: chunked\r\n\r\n7\r\ncount=3\r\n0\r\n\r\n",
	} {
		for way, leave := range map[string]func(*net.UnixConn) error{"closed": (*net.UnixConn).Close, "closed for sending": (*net.UnixConn).CloseWrite} {
			c := must.Get(net.Dial("unix", s.path))(t)
			must.Get(io.WriteString(c, send))(t)
			for range 2 { // it asks once more, then waits
				<-s.asked
			}
			must.Do(t, leave(c.(*net.UnixConn)))
			select {
			case <-s.ended:
			case <-time.After(20 * time.Second):
				s.set(1<<20, nil) // or the server waits for the request
				s.taker.Wake()
				t.Fatalf("who sends %s is not noticed to have %s", name, way)
			}
			_ = c.Close()
		}
	}
	if s.set(1<<20, nil); s.next != 0 || s.issued.Load() != 0 || s.burnt.Load() != 0 {
		t.Errorf("%d IDs were taken, %d issued, %d burnt", s.next, s.issued.Load(), s.burnt.Load())
	}
	must.Soon(t, func() bool { return runtime.NumGoroutine() <= before+3 }, "no more goroutines than before")
}
