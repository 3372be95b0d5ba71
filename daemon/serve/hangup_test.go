package serve

import (
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/flakeward/flakeward/internal/must"
)

// A client of HTTP/1 that goes is noticed while its request waits, whatever it has sent behind the
// request; one that stays gets its replies in turn.
func TestWhoSendsAheadAndGoesIsNoticed(t *testing.T) {
	waits, left, answer := make(chan struct{}), make(chan struct{}, 1), make(chan struct{})
	h := start(t, newStore(-1), answering(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/x" {
			waits <- struct{}{}
			select {
			case <-r.Context().Done():
				left <- struct{}{}
			case <-answer:
			}
		}
		sayPath(w, r)
	}))
	for name, leave := range map[string]func(*net.UnixConn){
		"closes the connection":   func(c *net.UnixConn) { _ = c.Close() },
		"closes its sending side": func(c *net.UnixConn) { _ = c.CloseWrite() },
	} {
		for _, ahead := range []string{"", "G", getX} {
			p := h.dial(t)
			p.send(getX)
			<-waits
			p.send(ahead)
			leave(p.UnixConn)
			select {
			case <-left:
			case <-time.After(20 * time.Second):
				t.Fatalf("it is not noticed that who has sent %q ahead %s", ahead, name)
			}
			if ahead == getX && name == "closes its sending side" { // what it has asked for is begun, and given up
				<-waits
				<-left
			}
		}
	}
	p := h.dial(t)
	p.send(getX)
	<-waits
	p.send("GET /y HTTP/1.1\r\nHost: f\r\n\r\nGET ")
	must.Do(t, p.SetReadDeadline(time.Now().Add(20*time.Second)))
	answer <- struct{}{}
	p.wantResponse(http.StatusOK, "/x")
	p.wantResponse(http.StatusOK, "/y")
	p.send("/z HTTP/1.1\r\nHost: f\r\n\r\n")
	p.wantResponse(http.StatusOK, "/z")
}
