package rest

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"runtime"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/internal/must"
)

// A connection that asks for nothing is closed once it has done so for --idle-timeout, whichever
// version it speaks, and not while a request of it waits.
func TestAConnectionThatAsksForNothingIsClosed(t *testing.T) {
	clock := clocktest.NewManual(time.Unix(1_800_000_000, 0))
	s := start(t, "twitter", func(c *Config) { c.Clock, c.Idle = clock, time.Minute })
	dial := func(text string) *bufio.Reader {
		c := must.Get(net.Dial("unix", s.path))(t)
		t.Cleanup(func() { _ = c.Close() })
		must.Get(io.WriteString(c, text))(t)
		return bufio.NewReader(c)
	}
	const get = "GET /v1/ids HTTP/1.1\r\nHost: f\r\n\r\n"
	first := dial(get)
	reply := must.Get(http.ReadResponse(first, nil))(t)
	must.Get(io.Copy(io.Discard, reply.Body))(t)
	second := dial(http2.ClientPreface + "\x00\x00\x00\x04\x00\x00\x00\x00\x00")
	for { // its settings are answered once it is idle
		f := must.Get(http2.NewFramer(io.Discard, second).ReadFrame())(t)
		if settings, ok := f.(*http2.SettingsFrame); ok && settings.IsAck() {
			break
		}
	}
	for s.server.idle.len() < 2 { // a reply is there before its connection is idle
		runtime.Gosched()
	}
	s.set(0, nil)
	third := dial(get)
	<-s.asked
	clock.BlockUntil(1)
	clock.Advance(time.Minute - 1)
	if reply, _ := s.do(t, "GET", "/livez"); reply.StatusCode != 200 || len(s.ended) != 0 {
		t.Errorf("%s; before the time, %d connections have ended", reply.Status, len(s.ended))
	}
	clock.BlockUntil(1)
	clock.Advance(2)
	for name, in := range map[string]io.Reader{"HTTP/1": first, "HTTP/2": second} {
		if rest, err := io.ReadAll(in); err != nil {
			t.Errorf("%s: %q (%v)", name, rest, err)
		}
	}
	s.set(1, nil)
	s.taker.Wake()
	if reply, err := http.ReadResponse(third, nil); err != nil || reply.StatusCode != 200 {
		t.Errorf("the request that waits: %v, %v", reply, err)
	}
}

func (a *idlers) len() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.idle.Len()
}

// leaving is a connection that can be told to leave.
type leaving struct {
	net.Conn
	told   bool
	closed chan struct{}
}

func (c *leaving) GoAway() bool { c.told = true; return true }
func (c *leaving) Close() error { close(c.closed); return nil }

// Who can be told to leave is told first, and closed a second later unless it asks meanwhile.
func TestWhoIsIdleIsToldBeforeItIsClosed(t *testing.T) {
	clock := clocktest.NewManual(time.Unix(1_800_000_000, 0))
	a := newIdlers(clock, time.Minute)
	defer a.close()
	of := func() *leaving { return &leaving{closed: make(chan struct{})} }
	first, second, late := of(), of(), of()
	a.is(first, true)
	a.is(second, true)
	clock.BlockUntil(1)
	clock.Advance(time.Minute - 1)
	a.is(late, true)
	if all, _ := a.late(); len(all) != 0 || first.told {
		t.Fatalf("%d are late before the time, told: %v", len(all), first.told)
	}
	clock.Advance(1)
	clock.BlockUntil(1)
	if !first.told || !second.told || late.told {
		t.Fatalf("told: %v, %v, %v", first.told, second.told, late.told)
	}
	a.is(second, false)
	clock.Advance(farewell)
	<-first.closed
	clock.BlockUntil(1)
	a.is(second, true)
	clock.Advance(time.Minute - 1 - farewell)
	clock.BlockUntil(1)
	select {
	case <-second.closed:
		t.Error("who asked once more is closed as if it had not")
	default:
	}
	a.gone(late)
}
