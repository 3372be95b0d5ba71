package serve

import (
	"context"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

// Once Disconnect has returned, nothing is sent to those who were connected before, whatever they
// have asked for; who connects afterwards is served.
func TestDisconnectEndsWhoIsConnected(t *testing.T) {
	s := newStore(0)
	h := start(t, s, nil)
	idle, waiting := h.dial(t), h.dial(t)
	idle.send("PING\r\n")
	idle.want("+PONG\r\n")
	waiting.send("NEXT\r\nPING\r\n")
	<-s.waited
	h.Disconnect()
	s.put(-1)
	h.Wake()
	idle.wantEnd()
	waiting.wantEnd()
	p := h.dial(t)
	p.send("PING\r\nDECODE 0\r\n")
	p.want("+PONG\r\n*12\r\n")
	must.Do(t, h.Drain(context.Background()))
	h.Disconnect() // harmless afterwards
	if c := h.Counters(); c.Connections != 0 || c.Accepted != 3 {
		t.Errorf("counters %+v", c)
	}
}

// Who calls Disconnect while the server stops is not left waiting.
func TestDisconnectWhileStopping(t *testing.T) {
	h := start(t, newStore(-1), nil)
	h.Disconnect() // it may not serve yet
	p := h.dial(t)
	p.send("PING\r\n")
	p.want("+PONG\r\n")
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 100 {
			h.Disconnect()
		}
	}()
	must.Do(t, h.Drain(context.Background()))
	<-done
}
