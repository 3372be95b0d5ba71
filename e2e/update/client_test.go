package update

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flakeward/flakeward/internal/process"
)

// clients ask one daemon after the other on connections that stay, and never try again.
type clients struct {
	t       *testing.T
	stop    context.CancelFunc
	ended   sync.WaitGroup
	mu      sync.Mutex
	issued  map[int64]struct{}
	longest time.Duration // wait for a reply, since the last look
}

// errWrong is what no fault excuses.
var errWrong = errors.New("a promise is broken")

// ask has clients ask. What they get goes to issued, which is theirs until they have ended. Where
// they may be cut, a connection that ends is no failure.
func ask(t *testing.T, socket string, connections int, issued map[int64]struct{}, cut bool) *clients {
	t.Helper()
	return askFor(t, socket, connections, issued, cut, 0, func(int) string { return "*1\r\n$4\r\nNEXT\r\n" })
}

// askFor is ask with each connection's request for an ID, at a rate of all together; 0: as fast as
// they can.
func askFor(t *testing.T, socket string, connections int, issued map[int64]struct{}, cut bool, rate int, request func(connection int) string) *clients {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	c := &clients{t: t, stop: stop, issued: issued}
	var pause time.Duration
	if rate > 0 {
		pause = time.Duration(connections) * longestRow / 2 * time.Second / time.Duration(rate)
	}
	for i := range connections {
		conn, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		c.ended.Go(func() {
			defer conn.Close()
			if err := c.pull(ctx, conn, request(i), 1+i%longestRow, pause); err != nil && (!cut || errors.Is(err, errWrong)) {
				t.Errorf("connection %d: %v", i, err)
			}
		})
	}
	return c
}

// askAt has one connection to each socket ask for rate IDs a second, in rows of n. No connection
// may end, and each request must be answered.
func askAt(t *testing.T, sockets []string, rate, n int) *clients {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	c := &clients{t: t, stop: stop, issued: map[int64]struct{}{}}
	for _, socket := range sockets {
		conn, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		c.ended.Go(func() {
			defer conn.Close()
			if err := c.pull(ctx, conn, "*1\r\n$4\r\nNEXT\r\n", n, time.Second*time.Duration(n)/time.Duration(rate)); err != nil {
				t.Errorf("%s: %v", socket, err)
			}
		})
	}
	return c
}

// longestRow is the longest row in which a connection of ask asks.
const longestRow = 16

// pull asks in rows of n until ctx ends, one row each pause, from any time of it: after a stall it
// catches up. It wants each ID above the one before.
func (c *clients) pull(ctx context.Context, conn net.Conn, one string, n int, pause time.Duration) error {
	replies, request, last := bufio.NewReader(conn), []byte(strings.Repeat(one, n)), int64(0)
	ids := make([]int64, 0, n)
	for due := time.Now().Add(rand.N(pause + 1)); ctx.Err() == nil; due = due.Add(pause) {
		if early := time.Until(due); pause > 0 && early > 0 {
			<-time.After(early)
		}
		begun := time.Now()
		if _, err := conn.Write(request); err != nil {
			return fmt.Errorf("a request was not taken: %w", err)
		}
		ids = ids[:0]
		for range n {
			line, err := replies.ReadString('\n')
			if err != nil {
				return fmt.Errorf("a reply did not come: %w", err)
			}
			id, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimPrefix(line, ":"), "\r\n"), 10, 64)
			if err != nil {
				return fmt.Errorf("%w: the reply is %q", errWrong, line)
			}
			if id <= last {
				return fmt.Errorf("%w: %d came after %d", errWrong, id, last)
			}
			last = id
			ids = append(ids, id)
		}
		took := time.Since(begun)
		c.mu.Lock()
		c.longest = max(c.longest, took)
		for _, id := range ids {
			if _, twice := c.issued[id]; twice {
				c.mu.Unlock()
				return fmt.Errorf("%w: %d came twice", errWrong, id)
			}
			c.issued[id] = struct{}{}
		}
		c.mu.Unlock()
	}
	return nil
}

// wait is the longest that a reply took since the last look.
func (c *clients) wait() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	longest := c.longest
	c.longest = 0
	return longest
}

// end ends the clients, and returns how many IDs they got.
func (c *clients) end() int {
	c.stop()
	c.ended.Wait()
	return len(c.issued)
}

// answers waits until whoever listens on the socket gives an ID, or over is closed.
func answers(t *testing.T, socket string, over <-chan struct{}) (answered bool) {
	t.Helper()
	for {
		if conn, err := net.Dial("unix", socket); err == nil {
			_, _ = conn.Write([]byte("NEXT\r\n"))
			line, _ := bufio.NewReader(conn).ReadString('\n')
			_ = conn.Close()
			if strings.HasPrefix(line, ":") {
				return true
			}
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
	c, rates := exec.Command("redis-benchmark", "-s", socket, "-c", "50", "-n", "2000000000", "-q", "NEXT"), &strings.Builder{}
	c.Stdout = rates
	end := command(t, c)
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
	return command(t, exec.Command("/usr/bin/python3", "-c", python, socket))
}

// command runs a client that must not end by itself. The func that is returned ends it.
func command(t *testing.T, c *exec.Cmd) (ran func()) {
	t.Helper()
	var said strings.Builder
	c.Stderr, c.SysProcAttr = &said, process.Orphanless()
	if err := c.Start(); err != nil {
		t.Fatalf("%v: `make clients peers` installs what is missing", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	return func() {
		t.Helper()
		select {
		case err := <-ended:
			t.Errorf("%s ended by itself: %v\n%s", c.Path, err, said.String())
			return
		default:
		}
		_ = c.Process.Kill()
		<-ended
	}
}
