package serve

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

// drainBegun waits until the listener is closed, which is where a drain begins.
func (h *host) drainBegun(t *testing.T) {
	t.Helper()
	for {
		c, err := net.Dial("unix", h.path)
		if err != nil {
			return
		}
		_ = c.Close()
	}
}

// Requests that have been received when a drain begins are answered: the one that waits, those read
// behind it, and those that the server has not read yet.
func TestDrainAnswersWhatWasReceived(t *testing.T) {
	s := newStore(0)
	h := start(t, s, func(c *Config) { c.Limits.Backlog = 100 << 10 })
	idle, p, partial, last, slow := h.dial(t), h.dial(t), h.dial(t), h.dial(t), h.dial(t)
	p.send("NEXT\r\nNEXT\r\n")
	<-s.waited
	p.send(strings.Repeat("*1\r\n$4\r\nNEXT\r\n", 1000)) // stays with the kernel
	partial.send("PING\r\n*1\r\n$4\r\nNE")
	partial.want("+PONG\r\n")
	last.send("NEXT 2\r\n") // nothing follows it
	<-s.waited
	slow.send("PING\r\n" + strings.Repeat("COMMAND\r\n", 1000)) // more than is sent without being read
	slow.want("+PONG\r\n")

	drained := make(chan error, 1)
	go func() { drained <- h.Drain(context.Background()) }()
	idle.wantEnd()
	partial.wantEnd()
	h.drainBegun(t)
	select {
	case err := <-drained:
		t.Fatalf("drained (%v) before all was answered", err)
	default:
	}
	s.put(-1)
	h.Wake()
	rest, err := io.ReadAll(p.in)
	if err != nil || strings.Count(string(rest), ":") != 1002 {
		t.Errorf("%d replies, want 1002: %v", strings.Count(string(rest), ":"), err)
	}
	if rest, err = io.ReadAll(last.in); err != nil || strings.Count(string(rest), ":") != 2 {
		t.Errorf("got %q, want 2 IDs: %v", rest, err)
	}
	if rest, err = io.ReadAll(slow.in); err != nil || strings.Count(string(rest), "\r\nnext\r\n") != 1000 {
		t.Errorf("%d replies, want 1000: %v", strings.Count(string(rest), "\r\nnext\r\n"), err)
	}
	if err := <-drained; err != nil {
		t.Errorf("Drain: %v", err)
	}
	if err := <-h.served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	h.Wake() // harmless afterwards
}

func TestDrainEndsWithItsContext(t *testing.T) {
	s := newStore(0)
	h := start(t, s, nil)
	p := h.dial(t)
	p.send("NEXT\r\n")
	<-s.waited
	ctx, cancel := context.WithCancel(context.Background())
	drained := make(chan error, 1)
	go func() { drained <- h.Drain(ctx) }()
	h.drainBegun(t)
	cancel()
	if err := <-drained; !errors.Is(err, context.Canceled) {
		t.Errorf("Drain: %v", err)
	}
	<-h.served
	p.wantEnd()
}

func TestServeOnlyOnce(t *testing.T) {
	h := start(t, newStore(-1), nil)
	p := h.dial(t)
	p.send("PING\r\n")
	p.want("+PONG\r\n")
	l := must.Get(net.Listen("unix", h.path+"2"))(t)
	if err := h.Serve(context.Background(), l); !errors.Is(err, errServed) {
		t.Errorf("got %v", err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener is left open: %v", err)
	}
}

func TestDrainBeforeServe(t *testing.T) {
	s := New(Config{Source: newStore(-1), Layout: start(t, newStore(-1), nil).config.Layout})
	s.Wake()
	if err := s.Drain(context.Background()); err != nil {
		t.Errorf("Drain: %v", err)
	}
}
