package rpc

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	flakewardv1 "github.com/flakeward/flakeward/api/flakeward/v1"
	"github.com/flakeward/flakeward/api/flakeward/v1/flakewardv1connect"
	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/daemon/await"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/rest"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
	"github.com/flakeward/flakeward/internal/info"
	"github.com/flakeward/flakeward/internal/must"
)

// site is a server that issues from a lane with the real queue, on a clock that stands still.
type site struct {
	address string
	clock   *clocktest.Manual
	layout  *generator.Layout
	lane    *generator.Lane
	pool    *issue.Issuer

	mu            sync.Mutex
	waits, waited int64 // requests that wait, and that ever did
	issued, burnt uint64
	codes         map[string]int        // of calls that were counted
	serving       int                   // requests
	conns         map[net.Conn]struct{} // that are open
}

// owner gives no other lane.
type owner struct{}

func (owner) ReLease(*generator.Lane) {}
func (owner) ExtendNow()              {}
func (owner) CanAcquire() bool        { return false }
func (owner) Condition() error        { return nil }

// note makes a change.
func (s *site) note(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// until waits until that is so.
func (s *site) until(t *testing.T, is func() bool) {
	t.Helper()
	must.Soon(t, func() bool { s.mu.Lock(); defer s.mu.Unlock(); return is() }, "as it should be")
}

// The site implements await.Counter.
func (s *site) Waits(n int64)                { s.note(func() { s.waits += n; s.waited += max(0, n) }) }
func (s *site) Issued(_ form.Form, n uint64) { s.note(func() { s.issued += n }) }
func (s *site) Burnt(n uint64)               { s.note(func() { s.burnt += n }) }
func (s *site) Took(time.Duration)           {}
func (s *site) Request(command, code string) {
	s.note(func() { s.codes[command+" "+code]++ })
}

// start makes a site whose tick is used up.
func start(t *testing.T) *site {
	t.Helper()
	layout := must.Get(generator.ParseLayout("flakeward"))(t)
	s := &site{layout: layout, clock: clocktest.NewManual(layout.Epoch().Add(1000 * time.Hour)), codes: map[string]int{}}
	guard := must.Get(clockguard.NewLimits(5*time.Millisecond, 2*time.Second, layout.TickLength()))(t)
	i := issue.New(layout, s.clock, issue.Limits{Guard: guard, RestartWait: time.Second, MaxBlock: time.Minute}, owner{})
	s.lane = must.Get(generator.NewLane(layout, 0, 7, 1))(t)
	s.lane.Roll()
	s.lane.Raise(layout.TickAt(s.clock.Now().Wall + int64(time.Hour)))
	i.Use(s.lane)
	s.pool = i
	taker := await.New(s.pool, s.clock, s)
	c := rest.Config{
		Take: taker, Layout: layout, MaxCount: 65536, Clock: s.clock, Count: s, Block: time.Minute,
		Status: func() info.Info { return nil },
		Health: rest.Health{Ready: func() rest.Readiness { return rest.Readiness{Ready: true} }, Live: func(context.Context) error { return nil }},
	}
	s.serve(t, c)
	s.exhaust()
	return s
}

// serve serves until the test has ended.
func (s *site) serve(t *testing.T, c rest.Config) {
	s.conns = map[net.Conn]struct{}{}
	c.RPC = New(c)
	server := rest.New(c)
	h := server.HTTP()
	follow, handler := h.ConnState, h.Handler
	h.ConnState = func(conn net.Conn, state http.ConnState) {
		follow(conn, state)
		switch state {
		case http.StateNew:
			s.note(func() { s.conns[conn] = struct{}{} })
		case http.StateClosed:
			s.note(func() { delete(s.conns, conn) })
		}
	}
	h.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.note(func() { s.serving++ })
		defer s.note(func() { s.serving-- })
		handler.ServeHTTP(w, r)
	})
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	s.address = l.Addr().String()
	served := make(chan error, 1)
	go func() { served <- h.Serve(l) }()
	t.Cleanup(func() {
		_ = h.Close()
		<-served
		server.Wait()
	})
}

// exhaust takes what the tick has left, and returns how much that was.
func (s *site) exhaust() (all int) {
	var c issue.Connection
	for {
		c.Begin()
		run, _ := s.pool.Take(&c, 0, 1)
		if all += run.N; run.N == 0 {
			c.End()
			return all
		}
	}
}

// crowd has callers come and go: each call as often as that. If they wait, all do before one goes.
func (s *site) crowd(t *testing.T, each int, wait bool, be func(*caller, <-chan struct{}, func(context.Context, *http.Client) error) error, what string) {
	t.Helper()
	var all sync.WaitGroup
	waits := make(chan struct{})
	for _, call := range calls {
		for range each {
			all.Go(func() {
				c := s.caller(call.http2)
				defer c.end()
				if err := be(c, waits, call.ask); err == nil {
					t.Errorf("who %s by %s got an ID", what, call.name)
				}
			})
		}
	}
	if wait {
		s.until(t, func() bool { return s.waits == int64(each*len(calls)) })
	}
	close(waits)
	all.Wait()
	s.until(t, func() bool { return s.waits == 0 && s.serving == 0 && len(s.conns) == 0 })
	if s.issued != 0 || s.burnt != 0 {
		t.Errorf("after those who each %s, %d IDs were issued and %d burnt", what, s.issued, s.burnt)
	}
	s.whole(t)
}

// whole moves the clock on to the next tick, has somebody take as much of it as one may who need
// not wait, and takes the rest, so that who comes next waits.
func (s *site) whole(t *testing.T) {
	t.Helper()
	s.clock.Advance(s.layout.TickLength())
	portion := int(s.layout.Max(generator.Sequence)) + 1
	c, waited := s.caller(true), s.waited
	most := uint32(portion - portion/8)
	_, err := flakewardv1connect.NewIdServiceClient(c.client, "http://f", connect.WithGRPC()).Run(t.Context(), connect.NewRequest(&flakewardv1.RunRequest{Count: most}))
	c.end()
	s.until(t, func() bool { return len(s.conns) == 0 })
	if rest := s.exhaust(); err != nil || s.waited != waited || s.issued != uint64(most) || rest != portion/8 || s.burnt != 0 {
		t.Errorf("of a tick's %d IDs somebody asks for %d: %v, %d requests waited, %d were issued; %d are left, %d burnt",
			portion, most, err, s.waited-waited, s.issued, rest, s.burnt)
	}
	s.note(func() { s.issued = 0 })
}
