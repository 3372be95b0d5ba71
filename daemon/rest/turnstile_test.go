package rest

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/flakeward/flakeward/daemon/queue"
)

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
	enter := &s.server.enter
	enter.begin(queue.User{UID: 1})
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
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for waits := 0; waits < 3; <-again.C {
		enter.mu.Lock()
		waits = len(enter.waits[queue.User{UID: queue.Nobody}])
		enter.mu.Unlock()
		select {
		case what := <-begun:
			t.Fatalf("%s has begun", what)
		default:
		}
	}
	enter.next()
	for range 3 {
		<-begun
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// While one request passes, others wait: their users in turn, each user's in order, and not those that
// have gone.
func TestUsersEnterInTurn(t *testing.T) {
	var s turnstile
	crowd, other := queue.User{UID: 1}, queue.User{UID: 2}
	if s.begin(crowd) != nil {
		t.Fatal("the first waits")
	}
	all := map[string]*entrant{}
	for _, name := range []string{"a", "b", "c", "d"} {
		all[name] = s.begin(crowd)
	}
	all["other"] = s.begin(other)
	gone, leave := context.WithCancel(t.Context())
	leave()
	if s.pass(gone, crowd) {
		t.Error("one that has gone passes")
	}
	if !s.leave(all["b"]) {
		t.Error("it is the turn of one that waits")
	}
	for _, name := range []string{"a", "other", "c", "d"} {
		s.next()
		for of, e := range all {
			select {
			case <-e.turn:
				if of != name {
					t.Errorf("it is the turn of %s, want %s", of, name)
				}
			default:
				if of == name {
					t.Errorf("it is not the turn of %s", of)
				}
			}
		}
		delete(all, name)
	}
	if s.next(); s.begin(other) != nil {
		t.Error("one waits though nobody passes")
	}
	waits := s.begin(crowd)
	s.next()
	if s.leave(waits) {
		t.Error("one whose turn it is waits")
	}
}
