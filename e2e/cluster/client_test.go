package cluster

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/flakeward/flakeward/e2e/load"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/info"
	"github.com/flakeward/flakeward/internal/wire"
)

// client asks one daemon, one request after the other. The test cluster keeps what it gets.
type client struct {
	w      *testCluster
	socket string

	mu   sync.Mutex
	conn net.Conn
	in   *wire.Reader
	life string // the daemon's incarnation
}

func (c *client) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}

// ask sends a request and reads its reply. An error that is not a wire.Refused ends the connection.
func ask[T any](c *client, read func(*wire.Reader) (T, error), args ...string) (T, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return askLocked(c, read, args...)
}

func askLocked[T any](c *client, read func(*wire.Reader) (T, error), args ...string) (result T, err error) {
	if c.conn == nil {
		if c.conn, err = net.Dial("unix", c.socket); err != nil {
			c.conn = nil
			return result, err
		}
		c.in = wire.NewReader(c.conn)
	}
	_ = c.conn.SetDeadline(time.Now().Add(timeout))
	if _, err = c.conn.Write(wire.AppendCommand(nil, args...)); err == nil {
		result, err = read(c.in)
	}
	var refused wire.Refused
	if err != nil && !errors.As(err, &refused) {
		_ = c.conn.Close()
		c.conn = nil
	}
	return result, err
}

// named returns the life of the daemon; c.mu is held.
func (c *client) named() (string, error) {
	if c.life != "" {
		return c.life, nil
	}
	text, err := askLocked(c, (*wire.Reader).Bulk, "INFO", "SERVER")
	if err == nil {
		c.life, _ = info.Parse(text).Get("incarnation")
	}
	return c.life, err
}

// take asks for n IDs, 1 or more.
func (c *client) take(n int) ([]int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	life, err := c.named()
	if err != nil {
		return nil, err
	}
	ids, err := askLocked(c, func(r *wire.Reader) ([]int64, error) { return r.Ints(nil) }, "NEXT", strconv.Itoa(n))
	if err == nil {
		c.w.handedOut(life, ids...)
	}
	return ids, err
}

// must is take of a daemon that serves.
func (c *client) must(n int) []int64 {
	c.w.Helper()
	ids, err := c.take(n)
	if err != nil {
		c.w.Fatalf("%s gave no IDs: %v", c.socket, err)
	}
	return ids
}

// refusal takes one ID and returns the text of the refusal, empty if there was an ID.
func (c *client) refusal() string {
	c.w.Helper()
	_, err := c.take(1)
	var refused wire.Refused
	switch {
	case err == nil:
		return ""
	case errors.As(err, &refused):
		return string(refused)
	}
	c.w.Fatalf("%s answers neither with an ID nor with a refusal: %v", c.socket, err)
	return ""
}

// info is INFO.
func (c *client) info() map[string]string {
	c.w.Helper()
	text, err := ask(c, (*wire.Reader).Bulk, "INFO")
	if err != nil {
		c.w.Fatalf("%s says nothing: %v", c.socket, err)
	}
	return info.Parse(text).Map()
}

// number is an integer of INFO.
func (c *client) number(key string) int64 {
	c.w.Helper()
	n, err := strconv.ParseInt(c.info()[key], 10, 64)
	if err != nil {
		c.w.Fatalf("INFO's %s is no number: %v", key, err)
	}
	return n
}

func (c *client) holds() int              { c.w.Helper(); return int(c.number("worker_id")) }
func (c *client) granted() generator.Tick { c.w.Helper(); return generator.Tick(c.number("ceiling")) }

// stream is a steady load on one daemon.
type stream struct {
	*load.Client
	w    *testCluster
	life string
}

// stream begins to ask for rate IDs a second.
func (n *node) stream(rate int) *stream {
	n.w.Helper()
	n.client.mu.Lock()
	life, err := n.client.named()
	n.client.mu.Unlock()
	if err != nil {
		n.w.Fatal(err)
	}
	s, err := load.Open(context.Background(), n.config.Socket.Path, load.Config{Rate: rate})
	if err != nil {
		n.w.Fatal(err)
	}
	n.w.Cleanup(func() { _, _, _ = s.Close() })
	return &stream{s, n.w, life}
}

// stop ends the load, keeps the IDs, and returns how many there were and how many requests failed.
func (s *stream) stop() (ids int, refused uint64, err error) {
	all, refused, err := s.Close()
	s.w.handedOut(s.life, all...)
	return len(all), refused, err
}

// finish is stop of a load of which no request may have failed.
func (s *stream) finish() (ids int) {
	s.w.Helper()
	ids, refused, err := s.stop()
	if err != nil || refused > 0 {
		s.w.Errorf("of %d requests %d were refused, and the connection ended with %v", uint64(ids)+refused, refused, err)
	}
	return ids
}
