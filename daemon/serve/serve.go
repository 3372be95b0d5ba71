// Package serve answers the connections of a listener with the Redis protocol.
//
// On Linux one goroutine serves all connections from an epoll loop of its own; elsewhere each
// connection has a goroutine. The loop is own code, small as it is, because no library was found
// that can do all of this: stop reading from a connection whose request waits for IDs, keep a
// client's unread replies bounded, and answer what a client asked before it closed its sending
// side. (gnet 2.9 has an unbounded outbound buffer, cannot pause reading, and closes a half-closed
// connection; against Redis 7 under redis-benchmark, on two processors shared with the client, it
// reached 0.9 to 1.0 of Redis's rate with 50 connections.)
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
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/generator"
)

// Config is what a Server needs.
type Config struct {
	Source  resp.Source // IDs; its OnChange should call the server's Wake
	Layout  *generator.Layout
	Info    func() []resp.Section // what INFO shows; must not block; may be nil
	Version string
	Limits  Limits
	Log     hclog.Logger     // nil: nothing is logged
	Clock   clockguard.Clock // nil: the machine's
}

func (c Config) handler() *resp.Handler {
	return resp.NewHandler(resp.Config{Source: c.Source, Layout: c.Layout, Info: c.Info, Version: c.Version, Limits: c.Limits.Limits})
}

// Limits bound what clients may cost. A value of 0 stands for its default.
type Limits struct {
	resp.Limits
	Connections  int           // at once; default 10,000
	Backlog      int           // bytes of replies that one connection has not taken yet, after which its requests have to wait; default 1 MiB
	Backlogs     int           // the same for all connections together: above it each has only Output bytes; default 32 MiB
	WriteTimeout time.Duration // for how long a client may take none of its replies; default 10 s
}

// Default values of Limits.
const (
	DefaultConnections  = 10000
	DefaultBacklog      = 1 << 20
	DefaultBacklogs     = 32 << 20
	DefaultWriteTimeout = 10 * time.Second
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
	Connections uint64 // open now
	Accepted    uint64 // connections, since the start
	Rejected    uint64 // connections over the limit
	Requests    uint64 // refused ones included
	IDs         uint64
	Errors      uint64 // requests that were refused
}

// counts is written by the accept loop and the engine, and read by anyone.
type counts struct {
	accepted, ended, rejected atomic.Uint64
	requests, ids, errors     atomic.Uint64
}

func (c *counts) open() uint64 { return c.accepted.Load() - c.ended.Load() }

// add publishes what a handler has done since it was asked last.
func (c *counts) add(now, last resp.Tally) {
	if now == last {
		return
	}
	c.requests.Add(now.Requests - last.Requests)
	c.ids.Add(now.IDs - last.IDs)
	if now.Errors != last.Errors {
		c.errors.Add(now.Errors - last.Errors)
	}
}

// Server serves one listener. Its methods may be called from any goroutine.
type Server struct {
	config   Config
	start    func(Config, *counts) (engine, error)
	counts   counts
	admitted atomic.Int64           // the number of the last connection
	engine   atomic.Pointer[engine] // nil until Serve
	done     chan struct{}          // closed when Serve is about to return
	quit     chan struct{}          // closed when accepting has to end
	quitOnce sync.Once
	started  atomic.Bool
}

// New makes a server.
func New(c Config) *Server {
	c.Limits = c.Limits.orDefaults()
	if c.Log == nil {
		c.Log = hclog.NewNullLogger()
	}
	if c.Clock == nil {
		c.Clock = clockguard.System{}
	}
	return &Server{config: c, start: startEngine, done: make(chan struct{}), quit: make(chan struct{})}
}

// Counters is what has been done so far.
func (s *Server) Counters() Counters {
	accepted, ended := s.counts.accepted.Load(), s.counts.ended.Load()
	return Counters{
		Connections: accepted - min(ended, accepted),
		Accepted:    accepted,
		Rejected:    s.counts.rejected.Load(),
		Requests:    s.counts.requests.Load(),
		IDs:         s.counts.ids.Load(),
		Errors:      s.counts.errors.Load(),
	}
}

// Wake tries the requests again that wait for a change at the source. It does not block.
func (s *Server) Wake() {
	if e := s.engine.Load(); e != nil {
		(*e).wake()
	}
}

// Disconnect closes the connections that are open, and returns once nothing more is sent on them: a
// request that waits gets no answer. Who connects afterwards is served.
func (s *Server) Disconnect() {
	if e := s.engine.Load(); e != nil {
		(*e).disconnect()
	}
}

var errServed = errors.New("the server has served its listener already, or was drained before it did")

// Serve accepts and answers connections until Drain is called, and then returns nil, or until ctx
// ends, and then closes all of them and returns ctx's error. It closes l. A Server serves once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	defer l.Close() //nolint:errcheck // for the early ways out; the others have closed it
	if s.started.Swap(true) {
		return errServed
	}
	defer close(s.done)
	e, err := s.start(s.config, &s.counts)
	if err != nil {
		return fmt.Errorf("cannot serve connections: %w", err)
	}
	s.engine.Store(&e)

	acceptCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	accepting := make(chan error, 1)
	go func() { accepting <- s.accept(acceptCtx, e, l) }()
	select {
	case <-s.quit:
		cancel()
		// Who has connected may have sent a request already: nobody of them is dropped with the
		// listener.
		for _, c := range refuseMore(l) {
			s.admit(e, c)
		}
		_ = l.Close()
		<-accepting
	case <-ctx.Done():
		_ = l.Close()
		<-accepting
	case err = <-accepting: // another has closed the listener
	}
	if ctx.Err() == nil {
		e.drain()
	}
	ended := make(chan struct{})
	go func() { e.wait(); close(ended) }()
	select {
	case <-ended:
		return err
	case <-ctx.Done():
		e.stop()
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
		close(s.done)
	}
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		if e := s.engine.Load(); e != nil {
			(*e).stop()
		}
		<-s.done
		return ctx.Err()
	}
}
