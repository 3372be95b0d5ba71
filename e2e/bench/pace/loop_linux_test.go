package pace

import (
	"bufio"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakeward/flakeward/internal/sockettest"
	"github.com/flakeward/flakeward/internal/wire"
)

// takeRequest reads one request of the given size.
func takeRequest(in io.Reader, size int) error {
	_, err := io.CopyN(io.Discard, in, int64(size))
	return err
}

// answer serves a connection with the same reply to each request.
func answer(reply string) func(int, *sockettest.Conn) {
	return func(_ int, c *sockettest.Conn) { c.Answer(func(string) (string, bool) { return reply, true }) }
}

// small is a load that is over soon.
func small(socket string, request ...string) Load {
	return Load{Socket: socket, Request: request, Rate: 20000, Connections: 3, Warm: 10 * time.Millisecond, Length: 50 * time.Millisecond, Seed: 7}
}

// planned is how many requests a load's schedule has in Length.
func planned(l Load) (n int64) {
	s := newSchedule(l.Rate, l.Connections, l.Seed)
	for {
		at, _ := s.next()
		if at >= int64(l.Warm+l.Length) {
			return n
		}
		if at >= int64(l.Warm) {
			n++
		}
	}
}

func TestRun(t *testing.T) {
	for name, spin := range map[string]time.Duration{"asleep": 0, "polling": time.Second} {
		l := small(sockettest.Serve(t, answer(":123\r\n")), "NEXT")
		l.Spin = spin
		r, err := Run(t.Context(), l)
		if err != nil {
			t.Fatal(name, err)
		}
		if n := planned(l); n == 0 || r.Sent != n || r.Latency.Count != n || r.Late.Count != n || r.Refused != 0 || r.Unanswered != 0 {
			t.Errorf("%s: %d requests were laid down, and the result is %+v", name, n, r)
		}
		if r.Latency.Max <= 0 || r.Latency.P50 < r.Late.P50 {
			t.Errorf("%s: a latency of %v, %v late", name, r.Latency, r.Late)
		}
	}
}

// The server answers nothing until it has every request: a generator that waits for replies would
// never send them all. And what waited longest is the oldest: no reply can come before the last
// request's time, so half of them took half of the length or more.
func TestNothingIsHeldBack(t *testing.T) {
	l := small("", "NEXT")
	l.Warm, l.Connections = 0, 1
	n := int(planned(l))
	size := len(wire.AppendCommand(nil, l.Request...))
	l.Socket = sockettest.Serve(t, func(_ int, c *sockettest.Conn) {
		if takeRequest(c, n*size) == nil {
			io.WriteString(c, strings.Repeat(":1\r\n", n))
		}
		io.Copy(io.Discard, c)
	})
	r, err := Run(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	if r.Latency.Count != int64(n) || r.Latency.P50 < l.Length/4 || r.Latency.Max < l.Length-5*time.Millisecond {
		t.Errorf("%d requests, %v", n, r.Latency)
	}
}

// A request larger than a socket's buffer is written in pieces, those after it wait their turn, and
// none is lost.
func TestAFullSocket(t *testing.T) {
	l := small("", "ECHO", strings.Repeat("x", 400<<10))
	l.Rate, l.Connections = 500, 2
	l.Socket = sockettest.Serve(t, answer(":1\r\n"))
	r, err := Run(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	if n := planned(l); r.Latency.Count != n || r.Unanswered != 0 || n == 0 {
		t.Errorf("%d of %d requests were answered", r.Latency.Count-r.Unanswered, n)
	}
}

func TestRefusedRequestsHaveNoLatency(t *testing.T) {
	l := small("", "NEXT")
	l.Socket = sockettest.Serve(t, answer("-UNAVAILABLE wait\r\n"))
	r, err := Run(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	if r.Refused != r.Sent || r.Sent == 0 || r.Latency.Count != 0 {
		t.Errorf("%+v", r)
	}
}

func TestUnanswered(t *testing.T) {
	g := &generator{from: 100, latency: newHistogram(), late: newHistogram(), connections: make([]connection, 2)}
	for i, at := range []int64{99, 100, 149, 150} { // the first one is of Warm
		g.connections[i%2].due.push(at)
	}
	g.giveUp(1000)
	if r := g.sum(); r.Unanswered != 3 || r.Latency.Count != 3 || r.Latency.Max < 900 || r.Latency.Max > 901 {
		t.Errorf("%+v", r)
	}
}

func TestBrokenServers(t *testing.T) {
	for _, c := range []struct {
		name, says string
		handle     func(int, *sockettest.Conn)
	}{
		// It may be met in reading or in writing.
		{"hangs up", "server", func(_ int, c *sockettest.Conn) { takeRequest(c, 1) }},
		{"speaks something else", "no integer", answer("hello\r\n")},
		{"says too much", "nobody asked", answer(":1\r\n:2\r\n")},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := small(sockettest.Serve(t, c.handle), "NEXT")
			if r, err := Run(t.Context(), l); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
	if _, err := Run(t.Context(), small(filepath.Join(t.TempDir(), "none"), "NEXT")); err == nil {
		t.Error("a socket that is not there is connected to")
	}
	if _, err := Run(t.Context(), Load{}); err == nil {
		t.Error("no load is run")
	}
}

// The context ends a load at once, however long it still had to go.
func TestTheContextEndsIt(t *testing.T) {
	stop := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	var asked atomic.Bool
	l := small(sockettest.Serve(t, func(_ int, c *sockettest.Conn) {
		for in := bufio.NewReader(c); takeRequest(in, 1) == nil; {
			if asked.CompareAndSwap(false, true) {
				cancel(stop)
			}
		}
	}), "NEXT")
	l.Rate, l.Length = 100, time.Hour-l.Warm
	if _, err := Run(ctx, l); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
}
