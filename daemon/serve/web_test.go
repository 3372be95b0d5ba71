package serve

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/daemon/budget"
	"github.com/flakeward/flakeward/daemon/peercred"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// answering makes a Config serve HTTP with what says the path.
func answering(h http.HandlerFunc) func(*Config) {
	return func(c *Config) {
		s := &http.Server{Handler: h, Protocols: new(http.Protocols), ConnState: func(c net.Conn, s http.ConnState) {
			c.(*WebConn).Asking(s == http.StateActive)
		}}
		s.Protocols.SetHTTP1(true)
		s.Protocols.SetUnencryptedHTTP2(true)
		c.HTTP = s
	}
}

func sayPath(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.Path) }

const getX = "GET /x HTTP/1.1\r\nHost: f\r\n\r\n"

func (p *peer) wantResponse(status int, body string) {
	p.t.Helper()
	r, err := http.ReadResponse(p.in, nil)
	if err != nil {
		p.t.Fatalf("no response: %v", err)
	}
	got, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != status || string(got) != body {
		p.t.Fatalf("%s %q (%v), want %d %q", r.Status, got, err, status, body)
	}
}

func TestAFirstLineMayArriveInParts(t *testing.T) {
	h := start(t, newStore(-1), answering(sayPath))
	web, redis := h.dial(t), h.dial(t)
	for i := range getX {
		web.send(getX[i : i+1])
	}
	web.wantResponse(200, "/x")
	for _, part := range []string{"NE", "XT", "\r", "\nPI", "NG\r\n"} {
		redis.send(part)
	}
	redis.want(":0\r\n+PONG\r\n")
}

func TestConnectionsThatSpeakHTTPCountAsOthersDo(t *testing.T) {
	b := budget.New(1 << 30)
	h := start(t, newStore(-1), func(c *Config) {
		answering(sayPath)(c)
		c.Limits.Connections, c.Budget = 2, b
	})
	web := h.dial(t)
	web.send(getX)
	web.wantResponse(200, "/x")
	if used := b.Used(); used < webConnBytes {
		t.Errorf("%d bytes are kept for it", used)
	}
	other := h.dial(t)
	other.send("PING\r\n")
	other.want("+PONG\r\n")
	h.dial(t).want("-ERR too many connections")
	_ = web.Close()
	h.until(t, "the end of both", func(c Counters) bool { return c.Connections == 1 })
	_ = other.Close()
	h.until(t, "no connection", func(c Counters) bool { return c.Connections == 0 })
	if used := b.Used(); used != 0 {
		t.Errorf("%d bytes are kept for nobody", used)
	}
}

// comes has a user connect to a server that has no socket of its own.
func comes(t *testing.T, s *Server, e engine) func(uid uint32) *peer {
	t.Helper()
	h := &host{path: filepath.Join(t.TempDir(), "s")}
	l := must.Get(net.Listen("unix", h.path))(t)
	t.Cleanup(func() { _ = l.Close() }) // it has nothing to lose
	return func(uid uint32) *peer {
		t.Helper()
		p := h.dial(t)
		c := must.Get(l.Accept())(t)
		g := client{who: peercred.Credentials{Known: true, UID: uid}, id: s.admitted.Add(1)}
		if g.verdict, g.from = s.counts.connections.Come(budget.User(uid)); g.verdict == budget.Refuse {
			t.Fatal("refused")
		}
		s.counts.accepted.Add(1)
		must.Do(t, e.add(c, g))
		return p
	}
}

// A user who has most connections loses one for another, whatever they speak.
func TestAnotherUserGetsThePlaceOfAConnectionThatSpeaksHTTP(t *testing.T) {
	c := Config{Source: newStore(-1), Layout: twitter(t), Limits: Limits{Connections: 2}}
	answering(sayPath)(&c)
	s := New(c)
	e := must.Get(startEngine(s.config, s.web))(t)
	s.web.begin()
	come := comes(t, s, e)
	first, second := come(1), come(1)
	for _, p := range []*peer{first, second} {
		p.send(getX)
		p.wantResponse(200, "/x")
	}
	other := come(2)
	other.send("PING\r\n")
	other.want("+PONG\r\n")
	first.wantEnd()
	second.send(getX)
	second.wantResponse(200, "/x")
	if c := s.Counters(); c.Refused[Relieved] != 1 || c.Connections != 2 {
		t.Errorf("%+v", c)
	}
	e.stop()
	s.web.stop()
	e.wait()
	s.web.end()
}

func TestOverTheBudgetTheOldestConnectionThatSpeaksHTTPEnds(t *testing.T) {
	b := budget.New(40 * webConnBytes)
	h := start(t, newStore(-1), func(c *Config) {
		answering(sayPath)(c)
		c.Budget = b
	})
	first := h.dial(t)
	first.send(getX)
	first.wantResponse(200, "/x")
	for range 100 {
		p := h.dial(t)
		p.send(getX)
		p.wantResponse(200, "/x")
	}
	first.wantEnd()
	h.until(t, "the budget", func(c Counters) bool { return c.Refused[Heavy] > 0 && b.Used() <= b.Limit() })
}

func TestAFirstLineThatDoesNotEndIsIdle(t *testing.T) {
	h := start(t, newStore(-1), func(c *Config) {
		answering(sayPath)(c)
		c.Limits.IdleTimeout = 20 * time.Millisecond
	})
	p := h.dial(t)
	p.send("GET /x HT")
	p.wantEnd()
	h.until(t, "an end for idleness", func(c Counters) bool { return c.Refused[Idle] == 1 && c.Connections == 0 })
}

// A connection of HTTP that asks for nothing is closed once it has done so for two minutes,
// whichever version it speaks, and not while a request of it waits. Who can be told so is told
// first.
func TestAConnectionOfHTTPThatAsksForNothingIsClosed(t *testing.T) {
	clock, waits, answer := clocktest.NewManual(time.Unix(1e9, 0)), make(chan struct{}), make(chan struct{})
	h := start(t, newStore(-1), func(c *Config) {
		answering(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" {
				close(waits)
				<-answer
			}
			sayPath(w, r)
		})(c)
		c.Clock = clock
	})
	clock.BlockUntil(1)
	clock.Advance(time.Second) // its first moment stands for no request
	asks, leaves, busy, second := h.dial(t), h.dial(t), h.dial(t), h.dial(t)
	busy.send(strings.Replace(getX, "/x", "/slow", 1))
	<-waits
	for _, p := range []*peer{asks, leaves} {
		p.send(getX)
		p.wantResponse(200, "/x")
	}
	second.send(http2.ClientPreface + "\x00\x00\x00\x04\x00\x00\x00\x00\x00")
	frames := http2.NewFramer(io.Discard, second.in)
	for ack := false; !ack; { // its settings are answered once it is idle
		f, _ := must.Get(frames.ReadFrame())(t).(*http2.SettingsFrame)
		ack = f != nil && f.IsAck()
	}
	looks := func(n int) {
		t.Helper()
		for asking := 0; asking != 1; { // a reply is there before its connection is idle
			asking = 0
			for _, v := range h.web.conns() {
				if v.asking.Load() {
					asking++
				}
			}
		}
		for range n {
			clock.BlockUntil(1)
			clock.Advance(sweepOf(webIdle))
		}
		clock.BlockUntil(1)
	}
	looks(7)
	asks.send(getX)
	asks.wantResponse(200, "/x")
	looks(1)
	leaves.wantEnd()
	for told := false; !told; {
		_, told = must.Get(frames.ReadFrame())(t).(*http2.GoAwayFrame)
	}
	looks(1)
	second.wantEnd()
	asks.send(getX)
	asks.wantResponse(200, "/x")
	close(answer)
	busy.wantResponse(200, "/slow")
}

// What is said to a client that does not read waits for nobody but the connection's end.
func TestToTellAClientThatDoesNotReadTakesNoTime(t *testing.T) {
	l := must.Get(net.Listen("unix", filepath.Join(sockettest.Dir(t), "s")))(t)
	defer l.Close()
	client := must.Get(net.Dial("unix", l.Addr().String()))(t)
	defer client.Close()
	conn := must.Get(l.Accept())(t)
	written := make(chan error)
	go func() {
		_, err := conn.Write(make([]byte, 64<<20))
		written <- err
	}()
	must.Get(client.Read(make([]byte, 1)))(t) // now the write is under way
	a := new(web)
	v := &WebConn{Conn: conn, web: a, http2: true}
	if !v.goAway() {
		t.Error("it speaks HTTP/2")
	}
	must.Do(t, conn.Close())
	must.Fail(t, <-written, net.ErrClosed)
	a.serve.Wait()
}

func TestDisconnectEndsThoseThatSpeakHTTP(t *testing.T) {
	h := start(t, newStore(-1), answering(sayPath))
	web := h.dial(t)
	web.send(getX)
	web.wantResponse(200, "/x")
	h.Disconnect()
	web.wantEnd()
	again := h.dial(t)
	again.send(getX)
	again.wantResponse(200, "/x")
}

// A drain has the request answered that is under way, and ends those that have none.
func TestDrainAnswersWhatSpeaksHTTP(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan struct{})
	h := start(t, newStore(-1), answering(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			close(asked)
			<-answer
		}
		sayPath(w, r)
	}))
	idle, busy, half := h.dial(t), h.dial(t), h.dial(t)
	half.send(getX[:len(getX)-2])
	idle.send(getX)
	idle.wantResponse(200, "/x")
	busy.send(strings.Replace(getX, "/x", "/slow", 1))
	<-asked
	drained := make(chan error, 1)
	go func() { drained <- h.Drain(context.Background()) }()
	idle.wantEnd()
	half.wantEnd()
	close(answer)
	busy.wantResponse(200, "/slow")
	busy.wantEnd()
	must.Do(t, <-drained)
	if c := h.Counters(); c.Connections != 0 {
		t.Errorf("%+v", c)
	}
}

// A request that has arrived when a drain begins is answered, although nobody has looked at its
// connection yet.
func TestDrainAnswersHTTPThatWasReceived(t *testing.T) {
	for range 20 {
		h := start(t, newStore(-1), answering(func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done(): // it would be taken for one whose client has gone
				w.WriteHeader(http.StatusServiceUnavailable)
			case <-time.After(time.Millisecond):
			}
			sayPath(w, r)
		}))
		first := h.dial(t)
		first.send("PING\r\n")
		first.want("+PONG\r\n")
		var all []*peer
		for range 50 {
			p := h.dial(t)
			p.send(getX)
			all = append(all, p)
		}
		must.Do(t, h.Drain(context.Background()))
		for _, p := range all {
			p.wantResponse(200, "/x")
		}
	}
}

func TestADrainThatTakesTooLongEndsHTTPToo(t *testing.T) {
	asked := make(chan struct{})
	h := start(t, newStore(-1), answering(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	}))
	p := h.dial(t)
	p.send(getX)
	<-asked
	ctx, cancel := context.WithCancel(context.Background())
	drained := make(chan error, 1)
	go func() { drained <- h.Drain(ctx) }()
	cancel()
	if err := <-drained; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := io.ReadAll(p.in); err != nil {
		t.Errorf("the connection has not ended: %v", err)
	}
}

// readingConn has a byte for each read, once somebody has seen that it is read.
type readingConn struct {
	net.Conn
	seen chan struct{}
}

func (c readingConn) Read([]byte) (int, error) {
	c.seen <- struct{}{}
	return 1, nil
}

// Where many connections are open, what is read of one waits for its turn; of few, it does not.
func TestReadsOfManyConnectionsComeInTurn(t *testing.T) {
	a := newWeb(Config{}, &counts{})
	of := inTurn{&WebConn{Conn: readingConn{seen: make(chan struct{}, 1)}, web: a}}
	leave := a.turns.Enter(t.Context(), "another")
	a.many.Store(fewWeb)
	must.Get(of.Read(nil))(t)
	seen := of.of.Conn.(readingConn).seen
	<-seen
	a.many.Store(fewWeb + 1)
	var released atomic.Bool
	early := make(chan bool)
	go func() {
		_, _ = of.Read(nil)
		early <- !released.Load()
	}()
	<-seen
	for range 1000 {
		runtime.Gosched()
	}
	released.Store(true)
	leave()
	if <-early {
		t.Error("it did not wait")
	}
}
