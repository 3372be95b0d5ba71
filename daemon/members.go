package daemon

import (
	"context"
	"errors"
	"sync"
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

	ctx    context.Context // ends with close
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu   sync.Mutex
	last *listing // that was asked for last; nil: none was
}

// listing is a question for the members.
type listing struct {
	of   string        // the cluster's UUID
	done chan struct{} // closed once there is an answer:
	at   clockguard.Mono
	is   cluster.Status
	err  error
}

func newMembers(d *Daemon) *members {
	m := &members{d: d}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	return m
}

// close ends what is asked, and returns once that has ended.
func (m *members) close() {
	m.mu.Lock()
	m.cancel()
	m.mu.Unlock()
	m.work.Wait()
}

var errNotJoined = errors.New("no cluster is joined yet; wait, or see flakeward status for what keeps it")

// show is the members as JSON shows them.
func (m *members) show(ctx context.Context) (any, error) {
	is, err := m.status(ctx)
	if err != nil {
		return nil, err
	}
	return is, nil
}

// status is the members. All who ask while the coordinator is asked get the same answer.
func (m *members) status(ctx context.Context) (is cluster.Status, err error) {
	c, joined := m.coordinator.Load(), m.joined.Load()
	if c == nil || joined == nil {
		return is, errNotJoined
	}
	l, err := m.listing(*c, joined.UUID)
	if err != nil {
		return is, err
	}
	select {
	case <-l.done:
		return l.is, l.err
	case <-ctx.Done():
		return is, ctx.Err()
	}
}

// listing is the question for the members that is answered now, or was a moment ago.
func (m *members) listing(c coord.Coordinator, of string) (*listing, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last != nil && m.last.of == of && !m.old(m.last) {
		return m.last, nil
	}
	if err := m.ctx.Err(); err != nil {
		return nil, err
	}
	l := &listing{of: of, done: make(chan struct{})}
	m.last = l
	m.work.Go(func() {
		ctx, cancel := clockguard.WithTimeout(m.ctx, m.d.clock, membersTimeout)
		defer cancel()
		l.is, l.err = m.list(ctx, c)
		l.at = m.d.clock.Now().Mono
		close(l.done)
	})
	return l, nil
}

// old reports whether an answer is to be asked for again.
func (m *members) old(l *listing) bool {
	select {
	case <-l.done:
		return m.d.clock.Now().Mono.Sub(l.at) >= membersFor
	default:
		return false
	}
}

func (m *members) list(ctx context.Context, c coord.Coordinator) (is cluster.Status, err error) {
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
