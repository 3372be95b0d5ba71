package rest

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/internal/must"
)

// A client that has closed its own side while its request waits for its turn still listens. It is
// refused: an empty reply would say that all is well.
func TestWhoClosesItsSideBeforeItsTurnIsRefused(t *testing.T) {
	s := start(t, "twitter", func(*Config) {})
	s.server.asked.Store(fewRequests)
	defer s.server.turns.Enter(t.Context(), "another")()
	conn := must.Get(net.Dial("unix", s.path))(t)
	defer conn.Close() // it has nothing to lose
	must.Get(conn.Write([]byte("GET /v1/ids HTTP/1.1\r\nHost: f\r\n\r\n")))(t)
	must.Do(t, conn.(*net.UnixConn).CloseWrite())
	must.Do(t, conn.SetReadDeadline(time.Now().Add(20*time.Second)))
	reply, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(reply), "HTTP/1.1 503 ") || !strings.Contains(string(reply), `"code":"gone"`) {
		t.Errorf("the reply is (%v)\n%s", err, reply)
	}
}

// A request of either version, and a call, begins when it is its turn.
func TestARequestWaitsForItsTurn(t *testing.T) {
	begun := make(chan string, 3)
	s := start(t, "twitter", func(c *Config) {
		c.RPC = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { begun <- r.URL.Path })
		c.More = map[string]http.Handler{"/": http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { begun <- r.Proto })}
	})
	second := &http.Transport{Protocols: new(http.Protocols), DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", s.path) }}
	defer second.CloseIdleConnections()
	second.Protocols.SetUnencryptedHTTP2(true)
	s.server.asked.Store(fewRequests)
	leave := s.server.turns.Enter(t.Context(), "another")
	ended := make(chan error, 3)
	for url, by := range map[string]http.RoundTripper{"http://f/": s.client.Transport, "http://g/": second, "http://h/flakeward.v1.IdService/Next": second} {
		go func() {
			r, err := http.NewRequest(http.MethodGet, url, nil)
			if err == nil {
				_, err = by.RoundTrip(r) // there is none
			}
			ended <- err
		}()
	}
	must.Soon(t, func() bool { return s.server.asked.Load() == fewRequests+3 }, "three have come")
	if len(begun) > 0 {
		t.Errorf("%s has begun", <-begun)
	}
	leave()
	for range 3 {
		<-begun
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
