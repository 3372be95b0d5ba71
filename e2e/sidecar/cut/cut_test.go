package cut_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/e2e/sidecar/cut"
	"github.com/flakeward/flakeward/internal/isolated"
	"github.com/flakeward/flakeward/internal/need"
)

// space is a network of a test's own.
type space struct {
	t *testing.T
	*isolated.Network
}

func newSpace(t *testing.T) *space {
	t.Helper()
	n, err := isolated.NewNetwork(t)
	need.That(t, err)
	return &space{t, n}
}

func (s *space) must(f func() error) {
	s.t.Helper()
	if err := s.Do(f); err != nil {
		s.t.Fatal(err)
	}
}

func (s *space) ip(args ...string) {
	s.t.Helper()
	s.must(func() error {
		out, err := exec.Command("ip", args...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
		}
		return nil
	})
}

// pair is two namespaces with a cable between them.
func pair(t *testing.T) (near, far *space) {
	t.Helper()
	need.Root(t)
	need.Program(t, "ip", "apt-get install iproute2")
	near, far = newSpace(t), newSpace(t)
	near.ip("link", "add", "near", "type", "veth", "peer", "name", "far", "netns", far.Path())
	for _, end := range []struct {
		s       *space
		name    string
		address string
	}{{near, "near", "192.0.2.1/24"}, {far, "far", "192.0.2.2/24"}} {
		end.s.ip("address", "add", end.address, "dev", end.name)
		end.s.ip("link", "set", "up", "dev", end.name)
		end.s.ip("link", "set", "up", "dev", "lo")
	}
	return near, far
}

const (
	nearAddress = "192.0.2.1:7000"
	farAddress  = "192.0.2.2:7000"
)

// echo answers each connection with what it sends.
func (s *space) echo(address string) {
	s.t.Helper()
	var l net.Listener
	s.must(func() (err error) { l, err = net.Listen("tcp4", address); return err })
	s.t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
}

func (s *space) dial(address string, timeout time.Duration) (c net.Conn, err error) {
	err = s.Do(func() (err error) { c, err = net.DialTimeout("tcp4", address, timeout); return err })
	return c, err
}

const (
	silence = 300 * time.Millisecond
	deaf    = 30 * time.Second // ends a test that would hang
)

// answers returns nil if the connection does, to a byte that is sent now or one that was sent
// before.
func answers(c net.Conn, send bool, timeout time.Duration) error {
	_ = c.SetDeadline(time.Now().Add(timeout))
	if send {
		if _, err := c.Write([]byte{1}); err != nil {
			return fmt.Errorf("it cannot be sent: %w", err)
		}
	}
	_, err := io.ReadFull(c, make([]byte, 1))
	return err
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

// In each direction, connections that are there and new ones fall silent without an error, come
// back, and loopback never stops.
func TestCut(t *testing.T) {
	for _, d := range []cut.Direction{cut.Both, cut.In, cut.Out} {
		t.Run(string(d), func(t *testing.T) {
			near, far := pair(t)
			near.echo(nearAddress)
			near.echo("127.0.0.1:7000")
			far.echo(farAddress)
			there := map[string]net.Conn{}
			for name, from := range map[string]*space{farAddress: near, nearAddress: far} {
				c, err := from.dial(name, deaf)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close() // the end of the test
				if err := answers(c, true, deaf); err != nil {
					t.Fatal(err)
				}
				there[name] = c
			}
			near.must(func() error { return cut.Cut(cut.Out) }) // replaced by the next
			near.must(func() error { return cut.Cut(d) })
			for name, c := range there {
				if err := answers(c, true, silence); !isTimeout(err) {
					t.Errorf("to %s: %v, want silence", name, err)
				}
			}
			if c, err := near.dial(farAddress, silence); !isTimeout(err) {
				t.Errorf("a new connection out: %v, %v, want silence", c, err)
			}
			if c, err := far.dial(nearAddress, silence); !isTimeout(err) {
				t.Errorf("a new connection in: %v, %v, want silence", c, err)
			}
			c, err := near.dial("127.0.0.1:7000", deaf)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close() // the end of the test
			if err := answers(c, true, deaf); err != nil {
				t.Errorf("loopback: %v", err)
			}
			var dropped cut.Dropped
			near.must(func() (err error) { dropped, err = cut.Heal(); return err })
			if (dropped.In > 0) != (d != cut.Out) || (dropped.Out > 0) != (d != cut.In) {
				t.Errorf("%+v was dropped", dropped)
			}
			for name, c := range there {
				if err := answers(c, false, deaf); err != nil { // what was sent meanwhile
					t.Errorf("to %s, healed: %v", name, err)
				}
			}
			for address, from := range map[string]*space{farAddress: near, nearAddress: far} {
				c, err := from.dial(address, deaf)
				if err != nil {
					t.Errorf("a new connection, healed: %v", err)
					continue
				}
				if err := answers(c, true, deaf); err != nil {
					t.Error(err)
				}
				_ = c.Close()
			}
			near.must(func() (err error) { dropped, err = cut.Heal(); return err })
			if dropped != (cut.Dropped{}) {
				t.Errorf("healed twice: %+v", dropped)
			}
		})
	}
}

func TestCutOfAnotherDirection(t *testing.T) {
	if err := cut.Cut("up"); err == nil || !strings.Contains(err.Error(), `"up"`) {
		t.Errorf("%v", err)
	}
}
