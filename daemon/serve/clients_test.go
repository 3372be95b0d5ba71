package serve

import (
	"context"
	"net"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

// Connections that end in the middle of anything leave nothing behind.
func TestClientsThatVanish(t *testing.T) {
	s := newStore(0)
	h := start(t, s, nil)
	for _, in := range []string{"", "NEX", "*1\r\n$4", "NEXT\r\n", "NEXT 3\r\nPING\r\n", "PING\r\n"} {
		c := must.Get(net.Dial("unix", h.path))(t)
		must.Get(c.Write([]byte(in)))(t)
		if in == "NEXT\r\n" || in == "NEXT 3\r\nPING\r\n" {
			<-s.waited
		}
		_ = c.Close()
	}
	s.put(-1)
	h.Wake()
	p := h.dial(t)
	p.send("NEXT 2\r\n")
	p.in.Discard(len("*2\r\n:0\r\n:1\r\n")) // the drain below hangs otherwise
	must.Do(t, h.Drain(context.Background()))
	if c := h.Counters(); c.Connections != 0 || c.Accepted != 7 {
		t.Errorf("counters %+v", c)
	}
}
