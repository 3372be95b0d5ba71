// Package rest answers HTTP: IDs and what there is to know about them, in JSON or as lines of text.
// docs/http.md describes it, and so does the document that it serves at /v1/openapi.json.
//
// It knows the daemon by what Config has: functions that it calls. It opens no socket. All errors
// are problems as RFC 9457 has them, with the codes of the one table of refusals.
package rest

import (
	"cmp"
	"context"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/daemon/tally"
	"github.com/flakeward/flakeward/daemon/turnstile"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
	"github.com/flakeward/flakeward/internal/info"
	"github.com/flakeward/flakeward/internal/logging"
)

// Taker takes IDs; *await.Taker is one. Its errors are that of ctx, or why the request is refused.
type Taker interface {
	// Take appends n IDs, at least 1, to room as runs: all or none. It counts them by their form.
	Take(ctx context.Context, c *issue.Connection, tenant uint32, n int, as form.Form, room []generator.Run) ([]generator.Run, error)
}

// Counter is told what was done. It may be called from any goroutine.
type Counter interface {
	Request(command, code string) // one request was answered; the code is OK, or that of the refusal
}

// What a request is counted by, besides the codes of refusals.
const (
	OK   = tally.OK
	Gone = tally.Gone
)

// Config is what a Server answers from.
type Config struct {
	Take     Taker
	Layout   *generator.Layout
	Form     form.Form                          // of the IDs, where a request does not say
	Coder    func() *form.Coder                 // writes them; see resp.Config; nil: there are no UUIDs
	MaxCount int                                // IDs in one request
	Status   func() info.Info                   // what INFO shows; must not block
	Cluster  func(context.Context) (any, error) // the members, as JSON shows them; nil: they are not shown
	Health   Health
	Clock    clockguard.Clock        // known time
	Count    Counter                 // nil: nobody counts
	More     map[string]http.Handler // further paths, for GET and HEAD; errors become problems
	RPC      http.Handler            // answers the paths that begin as RPCPaths do; nil: there are none
	// Leaving reports whether another process is about to serve in this one's place: connections of
	// HTTP/2 are told so (GOAWAY) with their next reply; nil: never.
	Leaving func() bool
	// Unserved is why a request that came by an address is not answered, and ids whether it would
	// be by new IDs; nil: all are.
	Unserved func(r *http.Request, ids bool) *resp.Refusal
	Log      hclog.Logger  // nil: nothing is logged
	Block    time.Duration // for how long a request for IDs may wait, at most
}

// Bounds of what a client may cost.
const (
	headerTimeout = 10 * time.Second // in which a request's header must have arrived
	replyTimeout  = 10 * time.Second // in which a client must take a reply, beside what it waits for IDs
	logEvery      = time.Second      // between two lines of the log, at least
	mostHeader    = 16 << 10         // bytes, of the first line and all fields
	mostStreams   = 100              // of an HTTP/2 connection, at once
	crowdStreams  = 4                // the same where its user has many connections
	mostAhead     = 64 << 10         // bytes that such a connection may send before they are read: the least that HTTP/2 has
	frameBytes    = 16 << 10         // the largest frame
	// fewRequests are no crowd: turns cost each of them a tenth of its time.
	fewRequests = 64
	streamBytes = 32 << 10 // what such a request takes: a stack, and buffers
)

// Server answers requests. Its methods may be called from any goroutine.
type Server struct {
	config   Config
	routes   map[string]*route
	open     sync.WaitGroup       // connections
	turns    *turnstile.Turnstile // in which requests begin that are of many
	failures hclog.Logger         // what net/http says of connections
	asked    atomic.Int64         // requests that have not ended
}

// route is a path. One whose path ends in a slash is that of all paths which go on with one part.
type route struct {
	name     string // of the command, for counting
	serve    func(*Server, *request)
	params   []string // that it takes
	anything bool     // it takes any
	issues   bool     // new IDs
	posts    bool     // it takes POST as well, whose body may have the parameters
}

// decodePath begins the paths of IDs.
const decodePath = "/v1/ids/"

func path(name string, serve func(*Server, *request), params ...string) *route {
	return &route{name: name, serve: serve, params: params}
}

// New makes a server.
func New(c Config) *Server {
	s := &Server{config: c, turns: turnstile.New()}
	if c.Log == nil {
		s.config.Log = hclog.NewNullLogger()
	}
	s.failures = logging.Limit(s.config.Log, logEvery, c.Clock)
	s.routes = map[string]*route{
		"/v1/ids":          path("ids", (*Server).ids, "count", "tenant", "as"),
		decodePath:         path("decode", (*Server).decode, "as"),
		"/v1/runs":         path("runs", (*Server).runs, "count", "tenant"),
		"/v1/bounds":       path("bounds", (*Server).bounds, "from", "to"),
		"/v1/status":       path("status", (*Server).status),
		"/v1/layout":       path("layout", (*Server).layout),
		"/v1/openapi.json": path("openapi", (*Server).openapi),
		"/livez":           path("livez", (*Server).livez),
		"/readyz":          path("readyz", (*Server).readyz, "verbose"),
	}
	for _, path := range []string{"/v1/ids", "/v1/runs"} {
		s.routes[path].issues, s.routes[path].posts = true, true
	}
	if c.Cluster != nil {
		s.routes["/v1/cluster"] = &route{name: "cluster", serve: (*Server).cluster}
	}
	for path, h := range c.More {
		s.routes[path] = other(cmp.Or(strings.Trim(path, "/"), "page"), h)
	}
	return s
}

// HTTP makes what serves listeners: HTTP/1, and HTTP/2 without TLS. It serves once, and Wait
// follows its end.
func (s *Server) HTTP() *http.Server { return s.serving(mostStreams) }

// Crowd is HTTP for connections of a user that has many: each may ask for less at once.
func (s *Server) Crowd() *http.Server { return s.serving(crowdStreams) }

func (s *Server) serving(streams int) *http.Server {
	h := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: headerTimeout,
		WriteTimeout:      s.config.Block + replyTimeout,
		MaxHeaderBytes:    mostHeader,
		ConnState:         s.follow,
		ConnContext:       s.meet,
		ErrorLog:          log.New(failures{s.failures}, "", 0),
		HTTP2: &http.HTTP2Config{
			WriteByteTimeout: replyTimeout, MaxConcurrentStreams: streams, MaxReadFrameSize: frameBytes, MaxReceiveBufferPerConnection: mostAhead, MaxReceiveBufferPerStream: mostAhead,
		},
		Protocols: new(http.Protocols),
	}
	h.Protocols.SetHTTP1(true)
	h.Protocols.SetHTTP2(true)
	h.Protocols.SetUnencryptedHTTP2(true)
	return h
}

// Wait returns once the goroutines of all connections have ended.
func (s *Server) Wait() { s.open.Wait() }

// failures logs what net/http says of connections. Clients can cause it, and it has their
// addresses: one message for all keeps it within the limit.
type failures struct{ log hclog.Logger }

func (f failures) Write(text []byte) (int, error) {
	f.log.Debug("HTTP", "error", strings.TrimSpace(string(text)))
	return len(text), nil
}

// follow keeps account of a connection's life.
func (s *Server) follow(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.open.Add(1)
	case http.StateClosed, http.StateHijacked:
		s.open.Done()
	default:
		if a, ok := c.(interface{ Asking(bool) }); ok {
			a.Asking(state == http.StateActive)
		}
	}
}

// RPCPaths begin the paths of remote procedure calls.
var RPCPaths = []string{"/flakeward.v1.", "/grpc.health.v1.", "/grpc.reflection."}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.config.Leaving != nil && r.ProtoMajor == 2 && s.config.Leaving() {
		w.Header()["Connection"] = closes
	}
	r, of := s.client(r)
	defer of.release()
	defer s.asked.Add(-1)
	entered := s.asked.Add(1) <= fewRequests || s.turns.Pass(r.Context(), of.issue.User)
	isRPC := s.config.RPC != nil && slices.ContainsFunc(RPCPaths, func(prefix string) bool { return strings.HasPrefix(r.URL.Path, prefix) })
	if isRPC && entered && s.unserved(of, r, false) == nil {
		boundBody(w, r)
		s.call(w, r, of)
		return
	}
	where := r.URL.Path
	at, ok := s.routes[where]
	if above := strings.LastIndexByte(where, '/'); !ok && above > 0 {
		at, ok = s.routes[where[:above+1]]
	}
	if !ok {
		at = &route{name: tally.Other}
	}
	q := &request{s: s, w: w, r: r, client: of, at: at, code: OK}
	q.meetBody()
	refusal := s.unserved(of, r, at.issues)
	switch {
	case !entered: // a client that has closed only its own side still listens
		q.refuse(gone)
	case refusal != nil:
		q.refuse(refusal)
	case !ok: // whatever the method and the parameters
		q.refuse(resp.Refuse(resp.UnknownPath, resp.Shown(where)))
	case r.Method == http.MethodGet, r.Method == http.MethodHead, q.posted():
		if refusal := q.parse(); refusal != nil {
			q.refuse(refusal)
		} else {
			at.serve(s, q)
		}
	case r.Method == http.MethodOptions:
		w.Header().Set("Allow", at.allowed())
		w.WriteHeader(http.StatusNoContent)
		q.code = OK
	default:
		w.Header().Set("Allow", at.allowed())
		q.refuse(resp.Refuse(resp.WrongMethod, resp.Shown(r.Method), at.allowed()))
	}
	if s.config.Count != nil {
		s.config.Count.Request(at.name, q.code)
	}
}

// closes has net/http send GOAWAY.
var closes = []string{"close"}

// allowed are the methods of a path.
func (at *route) allowed() string {
	if at.posts {
		return "GET, HEAD, POST, OPTIONS"
	}
	return "GET, HEAD, OPTIONS"
}
