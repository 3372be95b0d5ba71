package daemon

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/flakeward/flakeward/cli/cluster"
	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
)

const (
	// membersFor is how long an answer of the coordinator is shown again, or that there was none.
	membersFor = time.Second
	// membersTimeout is how long the coordinator may take.
	membersTimeout = 5 * time.Second
)

// members asks the coordinator for the cluster's members: not more often than it can bear, however
// often clients ask, and however long it takes.
type members struct {
	d           *Daemon
	coordinator atomic.Pointer[coord.Coordinator]
	joined      atomic.Pointer[coord.Cluster]

	ctx   context.Context // ends with close
	close context.CancelFunc

	turn chan struct{} // has room for the one caller that asks, and guards what follows
	last string        // the UUID of the cluster that was asked for last; empty: none was
	at   clockguard.Mono
	is   cluster.Status
	err  error
}

func newMembers(d *Daemon) *members {
	m := &members{d: d, turn: make(chan struct{}, 1)}
	m.ctx, m.close = context.WithCancel(context.Background())
	return m
}

var errNotJoined = errors.New("no cluster is joined yet; wait, or see flakeward status for what keeps it")

// status is the members. All who come while the coordinator is asked get the same answer.
func (m *members) status(ctx context.Context) (is cluster.Status, err error) {
	c, joined := m.coordinator.Load(), m.joined.Load()
	if c == nil || joined == nil {
		return is, errNotJoined
	}
	select {
	case m.turn <- struct{}{}:
		defer func() { <-m.turn }()
	case <-ctx.Done():
		return is, ctx.Err()
	}
	if m.last != joined.UUID || m.d.clock.Now().Mono.Sub(m.at) >= membersFor {
		asking, cancel := clockguard.WithTimeout(m.ctx, m.d.clock, membersTimeout)
		defer cancel()
		m.last = joined.UUID
		m.is, m.err = m.list(asking, *c)
		m.at = m.d.clock.Now().Mono
	}
	return m.is, m.err
}

func (m *members) list(ctx context.Context, c coord.Coordinator) (is cluster.Status, err error) {
	if ctx.Err() != nil {
		return is, ctx.Err()
	}
	seen, err := c.Look(ctx) // the marks may have been raised since the start
	if err != nil {
		return is, err
	}
	all, err := c.Members(ctx)
	if err != nil {
		return is, err
	}
	return cluster.StatusOf(m.of(&seen), time.Unix(0, m.d.clock.Now().Wall), all), nil
}

func (m *members) of(joined *coord.Cluster) cluster.Cluster {
	return cluster.Cluster{
		UUID: joined.UUID, Layout: m.d.layout, Datacenter: m.d.config.IDs.Datacenter, Workers: min(m.d.layout.Workers(), coord.MaxWorkers),
		Floor: joined.Raise.Floor, ClusterEpoch: joined.Raise.ClusterEpoch, Window: time.Duration(joined.Window) * m.d.layout.TickLength(),
	}
}
