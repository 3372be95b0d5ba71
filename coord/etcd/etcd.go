// Package etcd is the coordinator in etcd, a real cluster's or an embedded one's.
//
// Worker IDs are claimed by creating a key that is attached to the lease of this
// coordinator's session. Of the claims that name one worker ID, the one with the
// lowest create revision owns it. Each record is written only in a transaction
// that compares the claim's create revision and the record's modification
// revision with those that the writer saw last, so a claimant that is wrong about
// anything fails to write. Leases and the client's view of them decide only when a
// worker ID changes hands.
package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/go-hclog"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/flakeward/flakeward/coord"
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
	// MakeRoom, if not nil, is called when etcd's space quota is used up, and the
	// request is then made once more. Without it the error asks the operator.
	MakeRoom func(ctx context.Context) error
	// Log takes what operators should know; nil for none.
	Log hclog.Logger
}

// Coordinator implements coord.Coordinator. Make it with New.
type Coordinator struct {
	keys     keys
	ttl      time.Duration
	timeout  time.Duration
	identity coord.Identity
	where    string
	spread   bool
	log      hclog.Logger
	makeRoom func(ctx context.Context) error
	dial     func(context.Context) (*clientv3.Client, error) // nil if there is a client

	opening turn // held while a client is made or a session opened
	// Set before Join succeeds and only read then.
	lease  clientv3.Lease
	commit committer
	own    *clientv3.Client // made by dial

	mu      sync.Mutex
	joined  joined
	current *session
	closed  bool
	live    map[string]bool // names of the claim nodes in use or being made
	doubts  int             // publishes that are still to look for orphans
	other   *coord.ClusterError
}

// joined is what Join learned; workers is 0 before.
type joined struct {
	workers int
	offset  uint64
	uuid    string
	layout  string // the layout's text
	record  string // the value of the layout record
}

// errClosed wraps coord.ErrClosed for calls after Close.
var errClosed = fmt.Errorf("etcd: %w", coord.ErrClosed)

// New returns a coordinator on client, which stays the caller's and must be
// closed only after the coordinator. Nothing is sent yet. It returns an error for
// a configuration that is impossible.
func New(client *clientv3.Client, config Config) (*Coordinator, error) {
	c, err := configured(config)
	if err != nil {
		return nil, err
	}
	c.lease, c.commit = client.Lease, committerOf(client.KV)
	return c, nil
}

// configured checks and completes the configuration.
func configured(config Config) (*Coordinator, error) {
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
	case !validToken(config.Identity.Incarnation):
		return nil, fmt.Errorf("etcd: the incarnation %q is not 1 to 64 letters and digits; draw a random one at every start", config.Identity.Incarnation)
	}
	return &Coordinator{
		keys:     keys{root: "/" + strings.Trim(config.Prefix, "/") + "/"},
		ttl:      config.TTL,
		timeout:  config.TryTimeout,
		identity: config.Identity,
		where:    config.Where,
		spread:   config.Spread,
		log:      config.Log,
		makeRoom: config.MakeRoom,
		opening:  newTurn(),
		live:     map[string]bool{},
	}, nil
}

// Join implements coord.Coordinator.
func (c *Coordinator) Join(ctx context.Context, want coord.Layout) (coord.Cluster, error) {
	if want.Workers < 1 || want.Workers > coord.MaxWorkers {
		return coord.Cluster{}, fmt.Errorf("etcd: a layout with %d worker IDs cannot be dealt; use 1 to %d", want.Workers, coord.MaxWorkers)
	}
	if want.Text == "" {
		return coord.Cluster{}, errors.New("etcd: the layout's text is empty; give the canonical layout and the datacenter")
	}
	if err := c.otherCluster(); err != nil {
		return coord.Cluster{}, err
	}
	if err := c.connect(ctx); err != nil {
		return coord.Cluster{}, err
	}
	key := c.keys.layout()
	ours := layout{Layout: want.Text, UUID: uuid.NewString()}
	record := encode(ours)
	resp, err := c.txn(ctx, kindJoin,
		[]clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(key), "=", 0)},
		[]clientv3.Op{clientv3.OpPut(key, record)},
		[]clientv3.Op{clientv3.OpGet(key)})
	if err != nil {
		return coord.Cluster{}, err
	}
	if !resp.Succeeded {
		kv := kvAt(resp, 0)
		if kv == nil {
			return coord.Cluster{}, fmt.Errorf("%s: the layout record %s vanished while it was read; try again", c.name(), key)
		}
		record = string(kv.Value)
		if ours, err = decodeLayout(kv.Value); err != nil {
			return coord.Cluster{}, fmt.Errorf("%s: the layout record %s is damaged (%w); restore it from a backup, or use another prefix", c.name(), key, err)
		}
		if ours.Layout != want.Text {
			return coord.Cluster{}, &coord.LayoutError{Ours: want.Text, Cluster: ours.Layout}
		}
	}
	j := joined{workers: want.Workers, uuid: ours.UUID, layout: ours.Layout, record: record}
	if c.spread {
		j.offset = offsetOf(ours.UUID)
	}
	c.mu.Lock()
	c.joined = j
	c.mu.Unlock()
	return coord.Cluster{UUID: ours.UUID}, nil
}

// closeTimeout bounds the end of the lease. It is short, for a lease that is not
// ended expires.
const closeTimeout = time.Second

// Close implements coord.Coordinator. If the lease cannot be ended within a
// second, the claims are freed when it expires.
func (c *Coordinator) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	// A session that is being opened sees closed and ends itself.
	c.opening <- struct{}{}
	defer c.opening.give()
	c.mu.Lock()
	current := c.current
	c.current = nil
	c.mu.Unlock()
	var err error
	if current != nil {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		err = current.close(ctx, c)
		cancel()
	}
	if c.own != nil {
		// The client's own context ends with it, which is all that it reports.
		if closing := c.own.Close(); !errors.Is(closing, context.Canceled) {
			err = errors.Join(err, closing)
		}
		c.own = nil
	}
	return err
}

func (c *Coordinator) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// ready returns what Join learned, or why the coordinator cannot be used.
func (c *Coordinator) ready() (joined, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return joined{}, errClosed
	case c.joined.workers == 0:
		return joined{}, fmt.Errorf("etcd: %w", coord.ErrNotJoined)
	}
	return c.joined, nil
}

// name is how errors call the servers.
func (c *Coordinator) name() string {
	if c.where == "" {
		return "etcd"
	}
	return "etcd (" + c.where + ")"
}

// offsetOf maps a UUID to where dealing begins (FNV-1a, 64 bits).
func offsetOf(s string) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range []byte(s) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}
