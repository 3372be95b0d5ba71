package daemon

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/flakeward/flakeward/cli/cluster"
	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/page"
	"github.com/flakeward/flakeward/daemon/rest"
	"github.com/flakeward/flakeward/generator"
)

// membersFor is how long an answer of the coordinator is shown again.
const membersFor = time.Second

// members asks the coordinator for the cluster's members, one request at a time.
type members struct {
	d           *Daemon
	asking      chan struct{} // has one while somebody asks
	coordinator atomic.Pointer[coord.Coordinator]
	operator    atomic.Pointer[coord.Operator] // the same one
	joined      atomic.Pointer[coord.Cluster]
	last        cluster.Status // what was shown last,
	at          clockguard.Mono
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

// status is the members.
func (m *members) status(ctx context.Context) (is cluster.Status, err error) {
	c, joined := m.coordinator.Load(), m.joined.Load()
	if c == nil || joined == nil {
		return is, errNotJoined
	}
	if err := m.acquire(ctx); err != nil {
		return is, err
	}
	defer m.release()
	now := m.d.clock.Now()
	if m.at != 0 && now.Mono.Sub(m.at) < membersFor && m.last.Cluster == joined.UUID {
		return m.last, nil
	}
	seen, err := (*c).Look(ctx) // the marks may have been raised since the start
	if err != nil {
		return is, err
	}
	all, err := (*c).Members(ctx)
	if err != nil {
		return is, err
	}
	m.last, m.at = cluster.StatusOf(m.of(&seen), time.Unix(0, now.Wall), all), now.Mono
	return m.last, nil
}

func (m *members) of(joined *coord.Cluster) cluster.Cluster {
	return cluster.Cluster{
		UUID: joined.UUID, Layout: m.d.layout, Datacenter: m.d.config.IDs.Datacenter, Workers: min(m.d.layout.Workers(), coord.MaxWorkers),
		Floor: joined.Raise.Floor, ClusterEpoch: joined.Raise.ClusterEpoch, Window: m.d.config.timing(m.d.layout).Window,
	}
}

func (m *members) acquire(ctx context.Context) error {
	select {
	case m.asking <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m *members) release() { <-m.asking }

// contact returns nil if the coordinator answers.
func (m *members) contact(ctx context.Context) error {
	c := m.coordinator.Load()
	if c == nil || m.joined.Load() == nil {
		return errNotJoined
	}
	_, err := (*c).Look(ctx)
	return err
}

// holder asks whose an ID was.
func (m *members) holder(ctx context.Context, id generator.Parts) (found cluster.Finding, err error) {
	o, c, joined := m.operator.Load(), m.coordinator.Load(), m.joined.Load()
	if o == nil || c == nil || joined == nil {
		return found, errNotJoined
	}
	if err := m.acquire(ctx); err != nil {
		return found, err
	}
	defer m.release()
	seen, err := (*c).Look(ctx)
	if err != nil {
		return found, err
	}
	of := m.of(&seen)
	if id.Worker >= uint64(of.Workers) {
		return of.Holder(id, nil, nil), nil
	}
	marks, err := (*o).Marks(ctx)
	if err != nil {
		return found, err
	}
	history, err := (*o).History(ctx, int(id.Worker))
	if err != nil {
		return found, err
	}
	for i := range marks {
		if uint64(marks[i].Worker) == id.Worker {
			return of.Holder(id, &marks[i], history), nil
		}
	}
	return of.Holder(id, nil, history), nil
}

// newPage makes the page that browsers get.
func newPage(d *Daemon, m *members, answers rest.Config) *page.Page {
	return page.New(page.Config{
		Version: d.config.Version, Host: d.config.Host, Layout: d.layout, Figures: d.figures, Counts: &d.counts, Events: d.events, Clock: d.clock,
		Contact: m.contact, Members: m.status, Holder: m.holder, Tenants: d.named, Log: d.log.Named("page"), User: rest.UserOf,
		Decode: func(text, as string) (int64, generator.Parts, error) {
			id, parts, problem := answers.Asks(context.Background()).Decode(text, as)
			if problem != nil {
				return 0, parts, errors.New(problem.Detail)
			}
			return id, parts, nil
		},
	})
}
