// Package serve answers the connections of a listener with the Redis protocol.
//
// One goroutine serves all connections from an epoll loop of its own. That is own code, small as it
// is, because no library was found that can do all of this: stop reading from a connection whose
// request waits for IDs, keep a client's unread replies bounded, and answer what a client asked
// before it closed its sending side. (gnet 2.9 has an unbounded outbound buffer, cannot pause
// reading, and closes a half-closed connection; against Redis 7 under redis-benchmark, on two
// processors shared with the client, it reached 0.9 to 1.0 of Redis's rate with 50 connections.)
//
// What counts is how seldom anybody has to be woken: poll_linux.go says how the loop waits, and
// deadline_linux.go until when. All replies of a round are written at its end, so that a client
// finds many of them at once. docs/performance.md has what each of them brought.
//
// Two or more Ps are best (GOMAXPROCS, as Go sets it): with one, the loop has to wait for other
// goroutines, and all its waits go through the scheduler.
package serve

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/time/rate"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/budget"
	"github.com/flakeward/flakeward/daemon/peercred"
	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/daemon/tally"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
	"github.com/flakeward/flakeward/internal/info"
	"github.com/flakeward/flakeward/internal/logging"
)

// Config is what a Server needs.
type Config struct {
	Source   resp.Source // IDs; its OnChange should call the server's Wake
	Layout   *generator.Layout
	Form     form.Form          // see resp.Config, as for the next
	Coder    func() *form.Coder // may be nil
	Info     func() info.Info   // what INFO shows; must not block; may be nil
	Version  string
	Limits   Limits
	Budget   *budget.Budget                  // what may be kept for connections; nil: any amount
	Allow    func(peercred.Credentials) bool // who may connect; nil: everybody who can open the socket
	Operator func(budget.User) bool          // who may use the reserve of connections; nil: nobody
	Password func([]byte) bool               // what who comes by an address has to give; see resp.Config
	HTTP     HTTP                            // answers the connections that speak HTTP; nil: all are answered with RESP
	Crowd    HTTP                            // answers those of HTTP/2 of a user that has many; nil: HTTP does
	Log      hclog.Logger                    // nil: nothing is logged
	Clock    clockguard.Clock                // nil: the machine's
	Count    *tally.Table                    // where requests are counted; nil: a table of the server's own
	// Feed is called by the event loop each FeedEvery, as a sign that it is alive; 0: never. It
	// must not wait.
	Feed      func()
	FeedEvery time.Duration
}

func (c Config) handler() *resp.Handler {
	return resp.NewHandler(resp.Config{
		Source: c.Source, Layout: c.Layout, Info: c.Info, Version: c.Version, Limits: c.Limits.Limits,
		Form: c.Form, Coder: c.Coder, Rounds: c.sayRounds,
		Count: c.Count, Password: c.Password,
	})
}

// sayRounds logs that a client rounds the IDs that it gets.
func (c Config) sayRounds(s *resp.Session) {
	c.Log.Warn("a client reads integers as doubles, so IDs above 2^53 reach its program rounded, and several as one: have it ask with AS string, or give the daemon --form string",
		"client", s.Library(), "user", s.Peer.User(), "pid", s.Peer.PID, "connection", s.ID)
}

// Limits bound what clients may cost. A value of 0 stands for its default.
type Limits struct {
	resp.Limits
	Connections  int           // at once; default 10,000
	Reserve      int           // connections more, for users whom Config.Operator names; default 0
	IdleTimeout  time.Duration // for how long a client may ask for nothing; default: for ever, and over HTTP 2 min
	Backlog      int           // bytes of replies that one connection has not taken yet, after which its requests have to wait; default 1 MiB
	Backlogs     int           // the same for all connections together: above it each has only Output bytes; default 32 MiB, or a quarter of the budget
	WriteTimeout time.Duration // for how long a client may take none of its replies; default 10 s
}

// Default values of Limits.
const (
	DefaultConnections  = 10000
	DefaultBacklog      = 1 << 20
	DefaultBacklogs     = 32 << 20
	DefaultWriteTimeout = 10 * time.Second

	// logEvery is the least time between two lines of the log with the same message.
	logEvery = time.Second
)

func (l Limits) orDefaults() Limits {
	l.Limits = l.Limits.OrDefaults()
	if l.Connections <= 0 {
		l.Connections = DefaultConnections
	}
	if l.Backlog <= 0 {
		l.Backlog = DefaultBacklog
	}
	if l.Backlogs <= 0 {
		l.Backlogs = DefaultBacklogs
	}
	if l.WriteTimeout <= 0 {
		l.WriteTimeout = DefaultWriteTimeout
	}
	return l
}

// Counters is what a Server has done so far.
type Counters struct {
	Connections uint64          // open now
	Waiting     int64           // those of them whose request waits for IDs
	Accepted    uint64          // connections, since the start
	Refused     [reasons]uint64 // connections that were refused or ended, by their Reason
	Requests    uint64          // that were answered, refused ones included
	IDs         uint64
	Errors      uint64 // requests that were refused
	Burnt       uint64 // IDs that were taken for requests which were given up
	Rounded     uint64 // connections whose clients round the integers that they got
}

// counts is written by the accept loop and the engine, and read by anyone.
type counts struct {
	accepted, ended atomic.Uint64
	waiting         atomic.Int64
	refused         [reasons]atomic.Uint64
	connections     *budget.Connections
}

// end counts a connection that was served.
func (c *counts) end(u budget.User) {
	c.ended.Add(1)
	c.connections.Go(u)
}

// Server serves a listener, and further ones that come and go. Its methods may be called from any
// goroutine.
type Server struct {
	config   Config
	web      *web
	counts   counts
	admitted atomic.Int64           // the number of the last connection
	refusals *rate.Limiter          // how fast clients are refused
	engine   atomic.Pointer[engine] // nil until Serve
	done     chan struct{}          // closed when Serve is about to return
	quit     chan struct{}          // closed when accepting has to end
	quitOnce sync.Once
	started  atomic.Bool
	doors    doors
	left     chan struct{} // closed when another process has the listeners and the connections
	adopted  []Connection
}

// New makes a server.
func New(c Config) *Server {
	c.Limits = c.Limits.orDefaults()
	if c.Log == nil {
		c.Log = hclog.NewNullLogger()
	}
	if c.Count == nil {
		c.Count = &tally.Table{}
	}
	if c.Clock == nil {
		c.Clock = clockguard.System{}
	}
	// All that is logged here, clients can cause.
	c.Log = logging.Limit(c.Log, logEvery, c.Clock)
	if c.Budget == nil {
		c.Budget = budget.New(math.MaxInt64)
	}
	s := &Server{config: c, refusals: rate.NewLimiter(refusals, refusalsAhead), done: make(chan struct{}), quit: make(chan struct{}), left: make(chan struct{})}
	s.counts.connections = budget.NewConnections(c.Limits.Connections, c.Limits.Reserve, c.Operator)
	s.web = newWeb(c, &s.counts)
	s.web.tooMuch = func() {
		if e := s.engine.Load(); e != nil {
			(*e).tooMuch()
		}
	}
	return s
}

// Counters is what has been done so far.
func (s *Server) Counters() Counters {
	accepted, ended := s.counts.accepted.Load(), s.counts.ended.Load()
	all := Counters{
		Connections: accepted - min(ended, accepted),
		Waiting:     s.counts.waiting.Load(),
		Accepted:    accepted,
		Burnt:       s.config.Count.Burnt.Load(),
		Rounded:     s.config.Count.Rounded.Load(),
	}
	all.Requests, all.Errors, all.IDs = s.config.Count.Snapshot().Totals()
	for r := range all.Refused {
		all.Refused[r] = s.counts.refused[r].Load()
	}
	return all
}

// Wake tries the requests again that wait for a change at the source. It does not block.
func (s *Server) Wake() {
	if e := s.engine.Load(); e != nil {
		(*e).wake()
	}
}

// Live returns nil once the engine has answered that it goes round, or has ended in order.
// Otherwise it returns ctx's error when that ends.
func (s *Server) Live(ctx context.Context) error {
	e := s.engine.Load()
	if e == nil {
		return nil
	}
	select {
	case <-(*e).live():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Disconnect closes the connections that are open, and returns once nothing more is sent on them: a
// request that waits gets no answer. Who connects afterwards is served.
func (s *Server) Disconnect() {
	if e := s.engine.Load(); e != nil {
		(*e).disconnect()
	}
	s.web.disconnect() // those that had left the engine before
}

// CountWaiting adds to the connections whose request waits for IDs.
func (s *Server) CountWaiting(n int64) { s.counts.waiting.Add(n) }

var errServed = errors.New("the server has served its listener already, or was drained before it did")

// Serve accepts and answers connections until Drain is called, and then returns nil, or until ctx
// ends, and then closes all of them and returns ctx's error. It closes l. A Server serves once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	defer l.Close() // for the early ways out; the others have closed it
	if s.started.Swap(true) {
		return errServed
	}
	defer close(s.done)
	e, err := startEngine(s.config, s.web)
	if err != nil {
		s.doors.end(nil)
		return fmt.Errorf("cannot serve connections: %w", err)
	}
	s.engine.Store(&e)
	for _, c := range s.adopted {
		s.admitted.Store(max(s.admitted.Load(), c.ID))
	}
	e.inherit(s.adopted, &s.counts)
	s.adopted = nil
	s.web.begin()

	s.Open(l)
	s.doors.begin(func(ctx context.Context, l net.Listener) error { return s.accept(ctx, e, l) })
	select {
	case <-s.quit:
		// Who has connected may have sent a request already: nobody of them is dropped with the
		// listener.
		s.doors.end(func(l net.Listener) {
			// All of them at once may be more than there are file descriptors.
			refuseMore(l, func(c net.Conn) { s.admit(e, c) })
		})
	case <-ctx.Done():
		s.doors.end(nil)
	case <-s.left:
		s.doors.end(nil)
		e.wait()
		s.web.leave()
		return nil
	case err = <-s.doors.broken: // another has closed a listener
		s.doors.end(nil)
	}
	if ctx.Err() == nil {
		e.drain()
		s.web.drain()
	}
	ended := make(chan struct{})
	go func() { e.wait(); s.web.end(); close(ended) }()
	select {
	case <-ended:
		return err
	case <-ctx.Done():
		e.stop()
		s.web.stop()
		<-ended
		return ctx.Err()
	}
}

// Drain stops accepting, has the requests answered that have been received, those still in the
// kernel's buffers included, and closes each connection after its last reply. It returns nil once
// Serve is through. If ctx ends first, everything is closed at once and ctx's error returned.
func (s *Server) Drain(ctx context.Context) error {
	s.quitOnce.Do(func() { close(s.quit) })
	if !s.started.Swap(true) {
		s.doors.end(nil)
		close(s.done)
	}
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		if e := s.engine.Load(); e != nil {
			(*e).stop()
		}
		s.web.stop()
		<-s.done
		return ctx.Err()
	}
}
