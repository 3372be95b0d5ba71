package faultproxy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// server answers each line with a line, "got <line>", and says what it got.
type server struct {
	listener net.Listener
	got      chan string
}

func newServer(t *testing.T) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{listener: l, got: make(chan string, 100)}
	var parts sync.WaitGroup
	parts.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			parts.Go(func() {
				defer c.Close()
				for in := bufio.NewScanner(c); in.Scan(); {
					s.got <- in.Text()
					if _, err := fmt.Fprintf(c, "got %s\n", in.Text()); err != nil {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		parts.Wait()
	})
	return s
}

// client is one connection to the proxy. Reads end after a minute at the latest.
type client struct {
	t *testing.T
	net.Conn
	in *bufio.Reader
}

func dial(t *testing.T, p *Proxy) *client {
	t.Helper()
	c, err := net.Dial("tcp", p.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return &client{t, c, bufio.NewReader(c)}
}

func (c *client) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) expect(want string) {
	c.t.Helper()
	if got, err := c.in.ReadString('\n'); err != nil || got != want+"\n" {
		c.t.Fatalf("%q, %v; want %q", got, err, want)
	}
}

// expectEnd wants what is left to be rest and then the connection's end.
func (c *client) expectEnd(rest string) {
	c.t.Helper()
	got, err := io.ReadAll(c.in)
	if string(got) != rest {
		c.t.Fatalf("%q, want %q", got, rest)
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		c.t.Fatal("the connection goes on")
	}
}

func TestCutReplyAt(t *testing.T) {
	s := newServer(t)
	p := Listen(t, s.listener.Addr().String())
	const replies = "got one\ngot two\n"
	for n := range int64(len(replies)) {
		c := dial(t, p)
		cut := p.CutReplyAt(n)
		if cut.Fired() {
			t.Fatal("cut before there was a reply")
		}
		c.send("one")
		if n >= 8 {
			c.expect("got one")
			c.send("two")
			c.expectEnd(replies[8:n])
		} else {
			c.expectEnd(replies[:n])
		}
		<-cut.done
	}
	c := dial(t, p)
	cut := p.CutReplyAt(3)
	p.Disarm()
	c.send("one")
	c.expect("got one")
	if cut.Fired() {
		t.Error("a cut that was disarmed has fired")
	}
}
