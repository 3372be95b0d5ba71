package serve

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
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

// Clients that keep asking through a drain, half of them on a new connection for each request: whatever the kernel has taken of them is
// answered, and what it has not is refused. Nobody is left in doubt.
func TestDrainLosesNoRequest(t *testing.T) {
	each(t, func(t *testing.T, engine string) {
		var old, fresh atomic.Int64
		for range 20 {
			h := start(t, engine, newStore(-1), nil)
			var clients sync.WaitGroup
			var answered atomic.Int64
			busy := make(chan struct{})
			for i := range 16 {
				lost := &old
				if i%2 == 0 {
					lost = &fresh
				}
				clients.Go(func() {
					for ask(t, h.path, lost == &fresh, lost, func() {
						if answered.Add(1) == 100 {
							close(busy)
						}
					}) {
					}
				})
			}
			<-busy
			if err := h.Drain(context.Background()); err != nil {
				t.Fatal(err)
			}
			clients.Wait()
		}
		if old.Load()+fresh.Load() > 0 {
			t.Errorf("%d requests on old connections and %d on new ones were lost in 20 drains", old.Load(), fresh.Load())
		}
	})
}

// ask connects and asks for one ID after the other, or for one alone. It returns false once it was refused.
func ask(t *testing.T, path string, once bool, lost *atomic.Int64, answered func()) bool {
	c, err := net.Dial("unix", path)
	if err != nil {
		return false
	}
	defer c.Close()
	for in := bufio.NewReader(c); ; {
		if _, err := io.WriteString(c, "NEXT\r\n"); err != nil {
			if !errors.Is(err, syscall.EPIPE) {
				t.Errorf("write: %v", err)
			}
			return false
		}
		if _, err := in.ReadString('\n'); err != nil {
			lost.Add(1)
			return false
		}
		answered()
		if once {
			return true
		}
	}
}
