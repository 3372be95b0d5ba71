package main

import (
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/wire"
)

// A user gets no more IDs than --rate allows, over all its connections, and is told why; a user
// with a rate of its own has that.
func TestProgramKeepsAUserToItsRate(t *testing.T) {
	program := must.Get(os.Executable())(t)
	const perSecond, burst, batch, batches = 1000, 100, 50, 20
	dial := func(d *started) (net.Conn, *wire.Reader) {
		c := must.Get(net.Dial("unix", d.socket))(t)
		t.Cleanup(func() { c.Close() })
		return c, wire.NewReader(c)
	}
	ask := func(c net.Conn, in *wire.Reader, request ...string) (string, error) {
		must.Get(c.Write(wire.AppendCommand(nil, request...)))(t)
		return in.Bulk()
	}

	d := start(t, program, os.Stderr, "--log-level", "error", "--rate", fmt.Sprintf("%d/s+%d", perSecond, burst))
	first, fromFirst := dial(d)
	second, fromSecond := dial(d)
	begun := time.Now()
	for i := range batches {
		c, in := first, fromFirst
		if i%2 == 1 {
			c, in = second, fromSecond
		}
		must.Get(c.Write(wire.AppendCommand(nil, "RUN", fmt.Sprint(batch))))(t)
		if _, _, err := in.Runs(nil, batch); err != nil {
			t.Fatal(err)
		}
	}
	least := time.Second * (batch*batches - burst) / perSecond
	if took := time.Since(begun); took < least*95/100 {
		t.Errorf("%d IDs came in %v, and the rate has them after %v", batch*batches, took, least)
	}
	if _, err := ask(first, fromFirst, "RUN", "65536"); err == nil || !strings.Contains(err.Error(), "at the user's rate of 1000/s: at most ") {
		t.Errorf("a count over the rate: %v", err)
	}
	d.signal(syscall.SIGTERM)
	d.end()
}
