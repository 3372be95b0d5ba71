//go:build e2e

package drills

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/flakeward/flakeward/audit/history"
	"github.com/flakeward/flakeward/e2e/compose"
)

// Members are the three members of the coordinator. Its methods may be called from several
// goroutines. Those that break something note the fault. After each drill all members are brought
// back, whatever the drill left.
type Members struct {
	r       *Run // the drill that runs, whose faults these are
	project *compose.Project
	backend backend
	dir     string // with a directory of data for each member
	names   []string
	cuts    map[string]*cut

	mu   sync.Mutex
	ends map[string]func() // of faults that last, by member
}

// backend is what differs between coordinators. Addresses are those of members that run, by name.
type backend interface {
	// leads says which member leads, or "" as long as a majority does not follow one; and how many
	// members serve.
	leads(ctx context.Context, addresses map[string]string) (leader string, serving int)
	// stores makes one write.
	stores(ctx context.Context, addresses map[string]string) error
	history(ctx context.Context, tree string) ([]history.Version, error)
	claims(ctx context.Context, tree string) ([]string, error)
	// record returns the cluster record.
	record(ctx context.Context, tree string) ([]byte, error)
	url(tree string) string
}

const memberCount = 3

// memberEvery is how often members are looked at while something of them is awaited.
const memberEvery = 50 * time.Millisecond

func (m *Members) container(name string) string { return m.project.Name + "-" + name }

// Names are the members' names, as the methods below take them.
func (m *Members) Names() []string { return slices.Clone(m.names) }

// addresses are those of the members that run and are not paused.
func (m *Members) addresses(ctx context.Context) (map[string]string, error) {
	all := map[string]string{}
	for _, name := range m.names {
		s, err := m.project.Engine.State(ctx, m.container(name))
		if err != nil {
			return nil, err
		}
		if s.Running && !s.Paused && s.Address != "" {
			all[name] = s.Address
		}
	}
	return all, nil
}

// Leader is the name of the member that leads, as soon as there is one that a majority follows.
func (m *Members) Leader(ctx context.Context) (leader string, err error) {
	err = until(ctx, "a leader of the coordinator", memberEvery, func() (bool, error) {
		addresses, err := m.addresses(ctx)
		if err != nil {
			return false, err
		}
		leader, _ = m.backend.leads(ctx, addresses)
		return leader != "", nil
	})
	return leader, err
}

// AwaitQuorum waits until the members have a leader and store a write.
func (m *Members) AwaitQuorum(ctx context.Context) error { return m.await(ctx, memberCount/2+1) }

func (m *Members) await(ctx context.Context, members int) error {
	return until(ctx, fmt.Sprintf("%d members of the coordinator that serve", members), memberEvery, func() (bool, error) {
		addresses, err := m.addresses(ctx)
		if err != nil {
			return false, err
		}
		if leader, serving := m.backend.leads(ctx, addresses); leader == "" || serving < members {
			return false, nil
		}
		return m.backend.stores(ctx, addresses) == nil, nil
	})
}

// begin notes a fault of members that lasts until finish, and ends those that they had.
func (m *Members) begin(kind string, names ...string) {
	for _, name := range names {
		end := m.r.fault(kind, name)
		m.finish(name)
		m.mu.Lock()
		m.ends[name] = end
		m.mu.Unlock()
	}
}

func (m *Members) finish(names ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range names {
		if end := m.ends[name]; end != nil {
			end()
			delete(m.ends, name)
		}
	}
}

// known returns an error if there is no member of that name.
func (m *Members) known(name string) error {
	if !slices.Contains(m.names, name) {
		return fmt.Errorf("the coordinator has no member %q, only %v", name, m.names)
	}
	return nil
}

// containers are the members' containers, of those that want accepts.
func (m *Members) containers(ctx context.Context, want func(compose.State) bool) (containers, names []string, err error) {
	for _, name := range m.names {
		s, err := m.project.Engine.State(ctx, m.container(name))
		if err != nil {
			return nil, nil, err
		}
		if want(s) {
			containers, names = append(containers, m.container(name)), append(names, name)
		}
	}
	return containers, names, nil
}

// Kill kills a member (SIGKILL) and returns when it is gone.
func (m *Members) Kill(ctx context.Context, name string) error {
	if err := m.known(name); err != nil {
		return err
	}
	m.begin("kill -9", name)
	m.cuts[name].gone()
	return m.project.Engine.Kill(ctx, m.container(name))
}

// Start starts a member that was killed, with its data. It does not wait until it answers.
func (m *Members) Start(ctx context.Context, name string) error {
	if err := m.known(name); err != nil {
		return err
	}
	if _, err := m.project.Engine.Docker(ctx, "start", m.container(name)); err != nil {
		return err
	}
	m.finish(name)
	return nil
}

// KillAll kills all members that run.
func (m *Members) KillAll(ctx context.Context) error {
	containers, names, err := m.containers(ctx, func(s compose.State) bool { return s.Running })
	if err != nil || len(containers) == 0 {
		return err
	}
	m.begin("kill -9", names...)
	return m.killed(ctx, containers)
}

func (m *Members) killed(ctx context.Context, containers []string) error {
	for _, c := range m.cuts {
		c.gone()
	}
	return m.project.Engine.Kill(ctx, containers...)
}

// StopAll stops all members that run, in order.
func (m *Members) StopAll(ctx context.Context) error {
	containers, names, err := m.containers(ctx, func(s compose.State) bool { return s.Running })
	if err != nil || len(containers) == 0 {
		return err
	}
	m.begin("stop", names...)
	for _, name := range names {
		m.cuts[name].gone()
	}
	_, err = m.project.Engine.Docker(ctx, append([]string{"stop", "--time", "10"}, containers...)...)
	return err
}

// StartAll starts all members that do not run, with their data. It does not wait until they answer.
func (m *Members) StartAll(ctx context.Context) error {
	containers, names, err := m.containers(ctx, func(s compose.State) bool { return !s.Running })
	if err != nil || len(containers) == 0 {
		return err
	}
	if _, err := m.project.Engine.Docker(ctx, append([]string{"start"}, containers...)...); err != nil {
		return err
	}
	m.finish(names...)
	return nil
}

// Pause freezes a member until Resume.
func (m *Members) Pause(ctx context.Context, name string) error {
	if err := m.known(name); err != nil {
		return err
	}
	m.begin("paused", name)
	_, err := m.project.Engine.Docker(ctx, "pause", m.container(name))
	return err
}

// Resume ends a Pause.
func (m *Members) Resume(ctx context.Context, name string) error {
	if err := m.known(name); err != nil {
		return err
	}
	if _, err := m.project.Engine.Docker(ctx, "unpause", m.container(name)); err != nil {
		return err
	}
	m.finish(name)
	return nil
}

// Cut drops all packets of a member in one or both directions, silently, until Heal.
func (m *Members) Cut(ctx context.Context, name string, d Direction) error {
	if err := m.known(name); err != nil {
		return err
	}
	return m.cuts[name].make(ctx, d)
}

// Heal ends a Cut.
func (m *Members) Heal(ctx context.Context, name string) error {
	if err := m.known(name); err != nil {
		return err
	}
	return m.cuts[name].heal(ctx)
}

// Wipe kills all members, deletes their data, starts them anew, and waits for a quorum: one fault.
// The history until then is kept, and judged apart. So that it is whole, the daemons are cut off
// before it is read, and are so until the new members serve.
func (m *Members) Wipe(ctx context.Context) error {
	r := m.r
	defer r.fault("wiped", "")()
	var reached []*Host
	for _, h := range r.Hosts {
		running, _, err := h.Running(ctx)
		if err != nil {
			return err
		}
		if running && !h.cut.active() {
			reached = append(reached, h)
		}
	}
	if err := Each(reached, func(h *Host) error { return h.cut.hide(ctx) }); err != nil {
		return err
	}
	versions, err := r.History(ctx)
	if err != nil {
		return fmt.Errorf("the history before the coordinator is wiped: %w", err)
	}
	r.mu.Lock()
	r.past = append(r.past, versions)
	r.mu.Unlock()

	containers, _, err := m.containers(ctx, func(s compose.State) bool { return s.Running })
	if err != nil {
		return err
	}
	if err := m.killed(ctx, containers); err != nil {
		return err
	}
	for _, name := range m.names {
		if err := removeBelow(filepath.Join(m.dir, name)); err != nil {
			return err
		}
	}
	if err := m.StartAll(ctx); err != nil {
		return err
	}
	if err := m.AwaitQuorum(ctx); err != nil {
		return err
	}
	return Each(reached, func(h *Host) error { return h.cut.heal(ctx) })
}

// restore brings all members back, whatever was done to them, and waits until all serve.
func (m *Members) restore(ctx context.Context) error {
	var errs []error
	for _, name := range m.names {
		s, err := m.project.Engine.State(ctx, m.container(name))
		if err == nil && s.Paused {
			err = m.Resume(ctx, name)
		}
		if err == nil && m.cuts[name].active() {
			err = m.Heal(ctx, name)
		}
		errs = append(errs, err)
	}
	errs = append(errs, m.StartAll(ctx))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("the coordinator cannot be brought back: %w", err)
	}
	return m.await(ctx, memberCount)
}
