package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flakeward/flakeward/cli/cluster"
	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/page"
	"github.com/flakeward/flakeward/daemon/rest"
	"github.com/flakeward/flakeward/generator"
)

const (
	// membersFor is how long an answer of the coordinator is shown again, or that there was none.
	membersFor = time.Second
	// membersTimeout is how long the coordinator may take.
	membersTimeout = 5 * time.Second
	// mostHolders is how often it is asked for holders in membersFor: each time reads all marks.
	mostHolders = 4
)

// members asks the coordinator for the cluster's members and for holders of IDs: not more often than
// it can bear, however often clients ask, and however long it takes.
type members struct {
	d           *Daemon
	coordinator atomic.Pointer[coord.Coordinator]
	operator    atomic.Pointer[coord.Operator] // the same one
	joined      atomic.Pointer[coord.Cluster]

	ctx    context.Context // ends with close
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu   sync.Mutex
	last *listing // that was asked for last; nil: none was

	asking  chan struct{} // has one while somebody asks for a holder
	since   clockguard.Mono
	holders int   // that were asked for since then
	away    error // why there was none; nil: there was
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
	m := &members{d: d, asking: make(chan struct{}, 1), since: d.clock.Now().Mono - clockguard.Mono(membersFor)}
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

var errTooOften = fmt.Errorf("the coordinator is asked for %d holders in %v at most; try again later", mostHolders, membersFor)

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
	if now := m.d.clock.Now().Mono; now.Sub(m.since) >= membersFor {
		m.since, m.holders, m.away = now, 0, nil
	}
	switch {
	case m.away != nil:
		return found, m.away
	case m.holders == mostHolders:
		return found, errTooOften
	}
	m.holders++
	found, err = m.find(ctx, *c, *o, id)
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) { // that would be the client's end
		m.since, m.away = m.d.clock.Now().Mono, fmt.Errorf("the coordinator does not answer: %w", err)
		err = m.away
	}
	return found, err
}

func (m *members) find(ctx context.Context, c coord.Coordinator, o coord.Operator, id generator.Parts) (found cluster.Finding, err error) {
	seen, err := c.Look(ctx)
	if err != nil {
		return found, err
	}
	of := m.of(&seen)
	if id.Worker >= uint64(of.Workers) {
		return of.Holder(id, nil, nil), nil
	}
	marks, err := o.Marks(ctx)
	if err != nil {
		return found, err
	}
	history, err := o.History(ctx, int(id.Worker))
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
