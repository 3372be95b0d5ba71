// Package etcd keeps the tree of a cluster in etcd, a real cluster's or an embedded
// one's. What the tree is for and who may write what is package claims's.
//
// A claim node is a key attached to the lease of this coordinator's session; nodes
// are ordered by their create revisions. The version of anything else is its
// modification revision. Every request is one transaction that compares the layout
// record's value too. Leases and the client's view of them decide only when a worker
// ID changes hands.
package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/claims"
	"github.com/flakeward/flakeward/coord/internal/turn"
)

// DefaultPrefix is the root of the tree when none is configured.
const DefaultPrefix = "/flakeward/"

// DefaultTTL is the lease's time to live when none is configured.
const DefaultTTL = 10 * time.Second

// Config is what a Coordinator needs besides a client.
type Config struct {
	// Prefix is the root of the tree; DefaultPrefix if empty. A slash is put
	// before and after it where there is none.
	Prefix string
	// TTL is the lease's time to live, in whole seconds and at least 2 s;
	// DefaultTTL if 0. A worker ID whose daemon died is free after that long, or
	// later: a leader change of etcd prolongs leases.
	TTL time.Duration
	// TryTimeout bounds each request to etcd, so that one that gets no answer is
	// given up and named; 5 s if 0.
	TryTimeout time.Duration
	// Identity names this daemon.
	Identity coord.Identity
	// Where names the servers in errors, such as "h1:2379, h2:2379". It must
	// hold no secret.
	Where string
	// Spread begins dealing at a worker ID drawn from the cluster's UUID instead
	// of 0: clusters of one host each, made by mistake, then rarely deal the same.
	Spread bool
	// History is how many entries are kept for each worker ID;
	// claims.DefaultHistory if 0.
	History int
	// Clock tells since when a claim is held, for people to read;
	// clockguard.System if nil.
	Clock clockguard.Clock
	// MakeRoom, if not nil, is called when etcd's space quota is used up, and the
	// request is then made once more. Without it the error asks the operator.
	MakeRoom func(ctx context.Context) error
	// Log takes what operators should know; nil for none.
	Log hclog.Logger
}

// Coordinator is a claims.Coordinator on etcd. Make it with New or Dial.
type Coordinator struct {
	*claims.Coordinator
	store *store
}

// New returns a coordinator on client, which stays the caller's and must be
// closed only after the coordinator. Nothing is sent yet. It returns an error for
// a configuration that is impossible.
func New(client *clientv3.Client, config Config) (*Coordinator, error) {
	s, err := newStore(config)
	if err != nil {
		return nil, err
	}
	s.use(client)
	return newCoordinator(s, config)
}

// newCoordinator returns the coordinator of a store.
func newCoordinator(s *store, config Config) (*Coordinator, error) {
	core, err := claims.New(s, claims.Config{
		Identity: config.Identity, Spread: config.Spread, History: config.History, Clock: config.Clock, Log: config.Log,
	})
	if err != nil {
		return nil, err
	}
	return &Coordinator{core, s}, nil
}

// store implements claims.Store.
type store struct {
	keys        keys
	ttl         time.Duration
	timeout     time.Duration
	incarnation string
	where       string
	user        string // for errors; empty if there is none
	log         hclog.Logger
	makeRoom    func(ctx context.Context) error
	dial        func(context.Context) (*clientv3.Client, error) // nil if there is a client

	opening turn.Turn // held while a client is made or a session opened
	// Set before Join or Look succeeds and only read then.
	lease  clientv3.Lease
	commit committer
	conn   *grpc.ClientConn // nil for a client of a server in this process
	own    *clientv3.Client // made by dial

	past past // what the answers showed of the servers

	mu       sync.Mutex
	current  *session
	closed   bool
	detached bool // a lease that is granted from now on may be another's as well
}

var _ claims.Store = (*store)(nil)

// use takes the client.
func (s *store) use(client *clientv3.Client) {
	s.lease, s.commit, s.conn = client.Lease, committerOf(client.KV), client.ActiveConnection()
}

// newStore checks and completes the configuration. The store has no client yet.
func newStore(config Config) (*store, error) {
	if config.TTL == 0 {
		config.TTL = DefaultTTL
	}
	if config.TryTimeout == 0 {
		config.TryTimeout = 5 * time.Second
	}
	if config.Log == nil {
		config.Log = hclog.NewNullLogger()
	}
	if config.Prefix == "" {
		config.Prefix = DefaultPrefix
	}
	switch {
	case config.TTL < 2*time.Second || config.TTL%time.Second != 0:
		return nil, fmt.Errorf("etcd: the session's time to live is %v; use whole seconds, 2s or more", config.TTL)
	case config.TryTimeout < 0:
		return nil, fmt.Errorf("etcd: the timeout of a request is %v; use a positive one", config.TryTimeout)
	}
	return &store{
		keys:        keys{root: "/" + strings.Trim(config.Prefix, "/") + "/"},
		ttl:         config.TTL,
		timeout:     config.TryTimeout,
		incarnation: config.Identity.Incarnation,
		where:       config.Where,
		log:         config.Log,
		makeRoom:    config.MakeRoom,
		opening:     turn.New(),
	}, nil
}

// closeTimeout bounds the end of the lease. It is short, for a lease that is not
// ended expires.
const closeTimeout = time.Second

// Close implements claims.Store. If the lease cannot be ended within a second, the
// claims are freed when it expires.
func (s *store) Close() error {
	return s.finish(func(current *session) error {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		return current.close(ctx, s)
	})
}

// Detach implements claims.Store. The lease lives on until it expires, unless another
// renews it.
func (s *store) Detach() error {
	s.mu.Lock()
	s.detached = true
	s.mu.Unlock()
	return s.finish(func(current *session) error {
		current.detach()
		return nil
	})
}

// finish has the session ended in the way given, and then the client.
func (s *store) finish(end func(*session) error) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	// A session that is being opened sees closed and ends itself.
	s.opening.Await()
	defer s.opening.Give()
	s.mu.Lock()
	current := s.current
	s.current = nil
	s.mu.Unlock()
	var err error
	if current != nil {
		err = end(current)
	}
	if s.own != nil {
		// The client's own context ends with it, which is all that it reports.
		if closing := s.own.Close(); !errors.Is(closing, context.Canceled) {
			err = errors.Join(err, closing)
		}
		s.own = nil
	}
	return err
}

// errClosed returns coord.ErrClosed after Close or Detach.
func (s *store) errClosed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		return nil
	}
	return fmt.Errorf("%s: %w", s.Name(), coord.ErrClosed)
}

// Name implements claims.Store.
func (s *store) Name() string {
	if s.where == "" {
		return "etcd"
	}
	return "etcd (" + s.where + ")"
}

// Path implements claims.Store.
func (s *store) Path(what string) string { return s.keys.path(what) }
