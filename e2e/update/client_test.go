package update

import (
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/audit/received"
	"github.com/flakeward/flakeward/e2e/load"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/process"
	"github.com/flakeward/flakeward/internal/wire"
)

// clients ask one daemon after the other on connections that stay, and never try again.
type clients struct {
	t   *testing.T
	all []*load.Client
	cut bool // a connection that ends is no failure
}

// longestRow is the longest row in which a connection of ask asks.
const longestRow = 16

// ask has clients ask as fast as they can.
func ask(t *testing.T, socket string, connections int, cut bool) *clients {
	t.Helper()
	c := &clients{t: t, cut: cut}
	for i := range connections {
		c.open(socket, load.Config{Row: 1 + i%longestRow, Window: 1})
	}
	return c
}

func (c *clients) open(socket string, config load.Config) {
	c.t.Helper()
	c.all = append(c.all, must.Get(load.Open(c.t.Context(), socket, config))(c.t))
}

// wait is the longest that a reply took since the last look.
func (c *clients) wait() (longest time.Duration) {
	for _, client := range c.all {
		longest = max(longest, client.Longest())
	}
	return longest
}

// end ends the clients, each of whose requests must have got an ID, and returns the IDs.
func (c *clients) end() (ids []int64) {
	c.t.Helper()
	for i, client := range c.all {
		got, refused, err := client.Close()
		if refused > 0 || err != nil && (!c.cut || errors.Is(err, load.ErrWrong)) {
			c.t.Errorf("connection %d: %d requests were refused, %v", i, refused, err)
		}
		ids = append(ids, got...)
	}
	return ids
}

// distinct is how many IDs there are, none of which may have come twice.
func distinct(t *testing.T, ids []int64) int {
	t.Helper()
	if d := received.FindDuplicates(ids); d.Repeated > 0 {
		t.Errorf("%d IDs came twice: %v", d.Repeated, d.Examples)
	}
	return len(ids)
}

// answers waits until whoever listens on the socket gives an ID, or over is closed.
func answers(t *testing.T, socket string, over <-chan struct{}) (answered bool) {
	t.Helper()
	for {
		if _, err := load.Ask(t.Context(), socket, (*wire.Reader).Int, "NEXT"); err == nil {
			return true
		}
		select {
		case <-over:
			return false
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// overall is the rate that redis-benchmark shows.
var overall = regexp.MustCompile(`rps=[0-9.]+ \(overall: ([0-9.]+)\)`)

// benchmark is redis-benchmark, which is made of hiredis, with 50 connections: it ends at the first
// connection that is closed and at the first error. The func that is returned ends it, and says its
// rate.
func benchmark(t *testing.T, socket string) (ran func()) {
	t.Helper()
	rates := &strings.Builder{}
	end := command(t, rates, "redis-benchmark", "-s", socket, "-c", "50", "-n", "2000000000", "-q", "NEXT")
	return func() {
		t.Helper()
		end()
		if said := overall.FindAllStringSubmatch(rates.String(), -1); said != nil { // of all until then
			t.Logf("FIGURE redis-benchmark asked %s times a second", said[len(said)-1][1])
		}
	}
}

const python = `
import redis, sys
r, last = redis.Redis(unix_socket_path=sys.argv[1]), 0
while True:
    n = r.execute_command("NEXT")
    assert n > last, (n, last)
    last = n
`

// redisPy is the redis-py of Debian's Python, which is told nothing of trying again.
func redisPy(t *testing.T, socket string) (ran func()) {
	t.Helper()
	return command(t, nil, "/usr/bin/python3", "-c", python, socket)
}

// command runs a client that must not end by itself. The func that is returned ends it.
func command(t *testing.T, out io.Writer, words ...string) (ran func()) {
	t.Helper()
	c, err := process.Start(t.Context(), process.Program{Command: words, Out: out})
	if err != nil {
		t.Fatalf("%v: `scripts/need clients peers` installs what is missing", err)
	}
	return func() {
		t.Helper()
		if err := c.Kill(); err != nil {
			t.Error(err)
		}
	}
}
