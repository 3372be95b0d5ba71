package serve

import (
	"context"
	"errors"
	"syscall"
	"testing"
)

// Once a drain has begun no client can send what nobody will read: it learns that before the first byte of a request is taken.
func TestDrainTakesNoMore(t *testing.T) {
	s := newStore(0)
	h := start(t, "system", s, nil)
	p := h.dial(t)
	p.send("NEXT\r\n")
	<-s.waited
	last := h.dial(t) // comes after p wherever the loop goes through all
	last.send("PING\r\n")
	last.want("+PONG\r\n")
	drained := make(chan error, 1)
	go func() { drained <- h.Drain(context.Background()) }()
	last.wantEnd()
	if _, err := p.Write([]byte("NEXT\r\n")); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("a request after the drain began: %v, want %v", err, syscall.EPIPE)
	}
	s.put(-1)
	h.Wake()
	p.want(":0\r\n")
	p.wantEnd()
	if err := <-drained; err != nil {
		t.Errorf("Drain: %v", err)
	}
	<-h.served
}
