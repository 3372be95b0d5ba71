// Package claims is the protocol by which worker IDs are claimed, opened,
// published and given back: once, over any Store that keeps a tree.
//
// A claim is an ephemeral node of that tree which names a worker ID. Of the claims
// that name one, the one that was created first owns it; any other is deleted again
// by its own maker, which tries elsewhere. A fresh claim draws a sequence number, which names the
// worker ID, so they are assigned in turn without anybody comparing anything.
//
// Who owns a worker ID opens its record: what it is granted from there is decided on the record as
// it was read, and the opening is stored only if the record still has that version. So a claimant
// that is wrong about anything fails to write, and claims and sessions decide only when a worker ID
// changes hands: a holder whose claim node is gone goes on, and makes it again. Every later write
// is fenced in the same way and carries a nonce, by which a writer that got no answer finds out
// whether it was its own that was stored.
//
// All of it happens in one cluster: each request is fenced by the cluster record too.
// That record also carries the floor and the cluster epoch. To raise all marks after a restore
// is one compare-and-swap on it: whatever was opened in an earlier cluster epoch is lost, and
// no record's ceiling counts for less than the floor.
package claims

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
)

// Config is what a Coordinator needs besides a Store.
type Config struct {
	// Identity names this daemon.
	Identity coord.Identity
	// StartOffset begins assigning at a worker ID drawn from the cluster's UUID instead
	// of 0: clusters of one host each, made by mistake, then rarely assign the same.
	// All coordinators of one tree agree on it.
	StartOffset bool
	// Clock times retries, and tells people since when a claim is held; clockguard.System if nil.
	Clock clockguard.Clock
	// Random is where tokens, UUIDs and choices come from; crypto/rand if nil.
	Random io.Reader
	// Log takes what operators should know; nil for none.
	Log hclog.Logger
}

// mostHistory is how many entries are kept for each worker ID. An entry takes about 250 bytes.
const mostHistory = 16

// Coordinator implements coord.Coordinator and coord.Operator. Make it with New.
//
// It has a part for each idea: membership says in which cluster a request is made, nodes keeps
// account of the own claim nodes, a claimant makes one claim and opens its record, and held is the
// claim from then on.
type Coordinator struct {
	store        Store
	identity     coord.Identity
	historyBound int
	clock        clockguard.Clock
	random       random
	log          hclog.Logger
	cluster      *membership
	nodes        *nodes
}

var (
	_ coord.Coordinator = (*Coordinator)(nil)
	_ coord.Operator    = (*Coordinator)(nil)
)

// New returns a coordinator on the store, which is closed with it. Nothing is sent
// yet. It returns an error for a configuration that is impossible.
func New(store Store, config Config) (*Coordinator, error) {
	if config.Clock == nil {
		config.Clock = clockguard.System{}
	}
	if config.Random == nil {
		config.Random = rand.Reader
	}
	if config.Log == nil {
		config.Log = hclog.NewNullLogger()
	}
	if !ValidToken(config.Identity.Incarnation) {
		return nil, fmt.Errorf("%s: the incarnation %q is not 1 to 64 letters and digits; draw a random one at every start", store.Name(), config.Identity.Incarnation)
	}
	dead := config.Identity.Dead
	if !ValidToken(dead) || dead == config.Identity.Incarnation {
		dead = "" // a hint that is none
	}
	member := &membership{store: store, startOffset: config.StartOffset, log: config.Log}
	return &Coordinator{
		store:        store,
		identity:     config.Identity,
		historyBound: mostHistory,
		clock:        config.Clock,
		random:       random{config.Random},
		log:          config.Log,
		cluster:      member,
		nodes:        &nodes{store: store, cluster: member, incarnation: config.Identity.Incarnation, dead: dead, log: config.Log, live: map[string]bool{}},
	}, nil
}

// Join implements coord.Coordinator.
func (c *Coordinator) Join(ctx context.Context, want coord.Layout) (coord.Cluster, error) {
	if want.Workers < 1 || want.Workers > coord.MaxWorkers {
		return coord.Cluster{}, fmt.Errorf("%s: a layout with %d worker IDs cannot be assigned; use 1 to %d", c.store.Name(), want.Workers, coord.MaxWorkers)
	}
	if want.Window < 0 {
		return coord.Cluster{}, fmt.Errorf("%s: a window of %d ticks; use 0 or more", c.store.Name(), want.Window)
	}
	if want.Text == "" {
		return coord.Cluster{}, fmt.Errorf("%s: the layout's text is empty; give the canonical layout and the datacenter", c.store.Name())
	}
	was := c.cluster.known()
	stored, err := c.look(ctx)
	if err != nil {
		return coord.Cluster{}, err
	}
	found, err := c.cluster.readLayout(stored)
	if err != nil {
		return coord.Cluster{}, err
	}
	if err := want.Fits(found.inspected()); err != nil {
		return coord.Cluster{}, err
	}
	if found.Workers != want.Workers {
		return coord.Cluster{}, fmt.Errorf("%s: the cluster assigns %d worker IDs and this daemon would assign %d of the same layout; run the same version everywhere", c.store.Name(), found.Workers, want.Workers)
	}
	j := c.cluster.clusterOf(found, stored)
	j.daemon = true
	if err := c.cluster.enter(was, j); err != nil {
		return coord.Cluster{}, err
	}
	return c.Known(), nil
}

// Known implements coord.Coordinator.
func (c *Coordinator) Known() coord.Cluster {
	j, told := c.cluster.latest()
	if j == nil {
		return coord.Cluster{}
	}
	return coord.Cluster{UUID: j.uuid, Raise: told, Window: j.record.Window, Trusted: j.record.Trusted}
}

// Look implements coord.Coordinator.
func (c *Coordinator) Look(ctx context.Context) (coord.Cluster, error) {
	var restored *coord.RestoredError
	if _, err := c.cluster.ready(); err != nil && !errors.As(err, &restored) {
		return coord.Cluster{}, err
	}
	was, before := c.cluster.latest()
	stored, err := c.store.LookAnew(ctx)
	if err != nil {
		return coord.Cluster{}, err
	}
	if stored.Version == 0 {
		return coord.Cluster{}, c.cluster.replaced("")
	}
	found, err := c.cluster.readLayout(stored)
	if err != nil {
		return coord.Cluster{}, err
	}
	if found.UUID != was.uuid {
		return coord.Cluster{}, c.cluster.replaced(found.UUID)
	}
	c.cluster.learn(was, before, c.cluster.clusterOf(found, stored).raise())
	return c.Known(), nil
}

// look returns the cluster record. Where none is, that of a cluster which was joined is gone.
func (c *Coordinator) look(ctx context.Context) (Entry, error) {
	_, err := c.cluster.ready()
	joined := err == nil
	if err != nil && !errors.Is(err, coord.ErrNotJoined) {
		return Entry{}, err
	}
	stored, err := c.store.Look(ctx)
	switch {
	case err != nil || stored.Version != 0:
		return stored, err
	case joined:
		return Entry{}, c.cluster.replaced("")
	}
	return Entry{}, fmt.Errorf("%s: %s: %w", c.store.Name(), c.store.Path(ClusterKey), coord.ErrNoCluster)
}

// Close implements coord.Coordinator. If the session cannot be ended soon, the
// claims are freed when it expires.
func (c *Coordinator) Close() error {
	c.cluster.shut()
	return c.store.Close()
}
