// Package etcd keeps the tree of a cluster in etcd. What the tree is for and who may write what is
// package claims's.
//
// The keys are those of package claims, and seq, the counter: its version is how many numbers were
// drawn. A claim node is a key attached to the lease of this coordinator's session; nodes are
// ordered by their create revisions. The version of anything else is its modification revision.
// Every request is one transaction that compares the cluster record's value too. Leases and the
// client's view of them decide only when a worker ID changes hands.
package etcd

import (
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/claims"
	"github.com/flakeward/flakeward/coord/internal/mutex"
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
	// Expired is called when a session has expired, and must not wait; nil: nobody is to know.
	Expired func()
	// Clock tells since when a claim is held, for people to read; clockguard.System if nil.
	Clock clockguard.Clock
	// Log takes what operators should know; nil for none.
	Log hclog.Logger
}

// Coordinator is a claims.Coordinator on etcd. Make it with New or Dial.
type Coordinator struct {
	*claims.Coordinator
	store *store
}

// New returns a coordinator on client, which stays the caller's and must be closed only after the
// coordinator. Nothing is sent yet. It returns an error for a configuration that is impossible.
func New(client *clientv3.Client, config Config) (*Coordinator, error) {
	s, err := newStore(config)
	if err != nil {
		return nil, err
	}
	s.client.library = client
	return newCoordinator(s, config)
}

// newCoordinator returns the coordinator of a store.
func newCoordinator(s *store, config Config) (*Coordinator, error) {
	core, err := claims.New(s, claims.Config{Identity: config.Identity, Clock: config.Clock, Log: config.Log})
	if err != nil {
		return nil, err
	}
	return &Coordinator{core, s}, nil
}

// store implements claims.Store.
type store struct {
	root     string // of the keys; it ends in a slash
	client   *client
	sessions sessions
	txns     transactions
}

var _ claims.Store = (*store)(nil)

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
	if config.Expired == nil {
		config.Expired = func() {}
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
	root := "/" + strings.Trim(config.Prefix, "/") + "/"
	c := &client{name: "etcd", root: root, timeout: config.TryTimeout}
	s := &store{
		root:     root,
		client:   c,
		sessions: sessions{client: c, ttl: config.TTL, log: config.Log, expired: config.Expired, opening: mutex.New()},
		txns:     transactions{client: c, layout: root + claims.ClusterKey},
	}
	s.sessions.growth = growth{txns: &s.txns, next: manyRevisions, log: config.Log}
	return s, nil
}

// Name implements claims.Store.
func (s *store) Name() string { return s.client.name }

// Path implements claims.Store.
func (s *store) Path(key string) string { return s.root + key }
