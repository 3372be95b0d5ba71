//go:build e2e

package drills

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/flakeward/flakeward/audit"
	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/audit/history"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/connect"
	"github.com/flakeward/flakeward/e2e/compose"
	"github.com/flakeward/flakeward/generator"
)

// Members are the three members of the coordinator; a directory has none. After each drill all of
// them are brought back, whatever the drill left.
type Members struct {
	backend
	r       *Run // the drill that runs, whose faults these are
	project *compose.Project
	dir     string // with a directory of data for each member
	all     []*box
}

// backend is what differs between coordinators.
type backend struct {
	file   string // of compose, in deploy
	scheme string
	port   string
	// asks a member whether it follows a leader, or leads.
	status  func(ctx context.Context, address string) (follows, leads bool)
	history func(ctx context.Context, m *Members, tree string) ([]history.Version, error)
}

var backends = map[string]backend{
	"etcd":      {"compose.yaml", "etcd", ":2379", etcdStatus, etcdHistory},
	"zookeeper": {"compose.zookeeper.yaml", "zk", ":2181", zookeeperStatus, zookeeperHistory},
	onDirectory: {},
}

const memberCount = 3

// sampleTimeout is how long one member may take to say how it is.
const sampleTimeout = 500 * time.Millisecond

func etcdStatus(ctx context.Context, address string) (follows, leads bool) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{address}, Logger: zap.NewNop(), DialTimeout: sampleTimeout})
	if err != nil {
		return false, false
	}
	defer client.Close() // it was only asked
	s, err := client.Status(ctx, address)
	return err == nil && s.Leader != 0, err == nil && s.Leader == s.Header.MemberId
}

func etcdHistory(ctx context.Context, m *Members, tree string) ([]history.Version, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: m.addresses(ctx), Logger: zap.NewNop()})
	if err != nil {
		return nil, err
	}
	defer client.Close() // it was only asked
	return history.Etcd(ctx, client, tree)
}

func zookeeperStatus(ctx context.Context, address string) (follows, leads bool) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return false, false
	}
	defer conn.Close() // it was only asked
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	_, _ = io.WriteString(conn, "srvr") // who did not get it answers nothing
	text, _ := io.ReadAll(conn)
	// Only who has joined a quorum has a mode.
	return strings.Contains(string(text), "\nMode: "), strings.Contains(string(text), "\nMode: leader")
}

func zookeeperHistory(_ context.Context, m *Members, tree string) ([]history.Version, error) {
	var dirs []string
	for _, member := range m.all {
		dirs = append(dirs, filepath.Join(m.dir, member.Name))
	}
	return history.ZooKeeper(dirs, tree)
}

// url is where daemons find a tree.
func (m *Members) url(tree string) string {
	if len(m.all) == 0 {
		return "dir:/coordinator/coord"
	}
	var names []string
	for _, member := range m.all {
		names = append(names, member.Name+m.port)
	}
	return m.scheme + "://" + strings.Join(names, ",") + tree
}

// outside is a tree's URL for this process, which has the addresses of those that run.
func (m *Members) outside(ctx context.Context, tree string) string {
	return m.scheme + "://" + strings.Join(m.addresses(ctx), ",") + tree
}

// addresses are those of the members that run and are not paused.
func (m *Members) addresses(ctx context.Context) (all []string) {
	for _, member := range m.all {
		if address := m.address(ctx, member); address != "" {
			all = append(all, address)
		}
	}
	return all
}

func (m *Members) address(ctx context.Context, member *box) string {
	s := member.state(ctx)
	if !s.Running || s.Paused || s.Address == "" {
		return ""
	}
	return s.Address + m.port
}

// lead is the member that leads, if there is one, and how many follow one.
func (m *Members) lead(ctx context.Context) (leader *box, following int) {
	var mu sync.Mutex
	each(m.all, func(member *box) {
		address := m.address(ctx, member)
		ctx, cancel := context.WithTimeout(ctx, sampleTimeout)
		defer cancel()
		if address == "" {
			return
		}
		follows, leads := m.status(ctx, address)
		mu.Lock()
		defer mu.Unlock()
		if follows {
			following++
		}
		if leads {
			leader = member
		}
	})
	return leader, following
}

// Leader is the member that leads, as soon as there is one that a majority follows.
func (m *Members) Leader(ctx context.Context) (leader *box) {
	until(ctx, func() {
		following := 0
		if leader, following = m.lead(ctx); leader == nil || following <= memberCount/2 {
			fail("%d members follow %v", following, leader)
		}
	}, "a leader of the coordinator")
	return leader
}

// AwaitQuorum waits until the members have a leader and answer.
func (m *Members) AwaitQuorum(ctx context.Context) { m.await(ctx, memberCount/2+1) }

func (m *Members) await(ctx context.Context, members int) {
	if len(m.all) == 0 {
		return
	}
	until(ctx, func() {
		if leader, following := m.lead(ctx); leader == nil || following < members {
			fail("%d members follow %v", following, leader)
		}
		m.operate(ctx, "/flakeward-drills", func(context.Context, coord.Operator) {})
	}, "%d members of the coordinator that serve", members)
}

// operate looks at a tree as an operator's command does. There may be no cluster.
func (m *Members) operate(ctx context.Context, tree string, do func(ctx context.Context, o coord.Operator)) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	o := mustGet(connect.Operate(connect.Config{URL: m.outside(ctx, tree)}))
	defer o.Close() // it has only looked
	if _, err := o.Inspect(ctx); !errors.Is(err, coord.ErrNoCluster) {
		must(err)
		do(ctx, o)
	}
}

// Claims are the names of the claim nodes that there are now. The members must have a quorum.
func (m *Members) Claims(ctx context.Context) (names []string) {
	m.operate(ctx, m.r.tree(), func(ctx context.Context, o coord.Operator) {
		for _, member := range mustGet(o.Members(ctx)) {
			names = append(names, member.Claim)
		}
	})
	slices.Sort(names)
	return names
}

// KillAll kills all members.
func (m *Members) KillAll(ctx context.Context) { each(m.all, func(b *box) { b.Kill(ctx) }) }

// StartAll starts all members that do not run, with their data. It does not wait until they answer.
func (m *Members) StartAll(ctx context.Context) { each(m.all, func(b *box) { b.Start(ctx) }) }

// Lose has the members lose all their data, and start with that of a backup, or with nothing where
// that is empty. The history until then is kept, and judged apart. So that it is whole, the daemons
// are cut off before it is read, and are so until the new members serve.
func (m *Members) Lose(ctx context.Context, backup string) {
	m.r.Fault("", "data lost")
	m.unseen(ctx, func() {
		m.r.past = append(m.r.past, m.r.History(ctx))
		m.KillAll(ctx)
		for _, member := range m.all {
			must(removeBelow(filepath.Join(m.dir, member.Name)))
		}
		if backup != "" {
			must(exec.CommandContext(ctx, "cp", "-a", backup+"/.", m.dir).Run())
		}
		m.StartAll(ctx)
		m.AwaitQuorum(ctx)
	})
}

// Backup stops the members, copies their data, and starts them.
func (m *Members) Backup(ctx context.Context) (at string) {
	each(m.all, func(b *box) { b.Stop(ctx) })
	at = filepath.Join(m.r.Dir, "backup")
	must(exec.CommandContext(ctx, "cp", "-a", m.dir, at).Run())
	m.StartAll(ctx)
	m.AwaitQuorum(ctx)
	return at
}

// Raise raises the cluster's floor, while no daemon can write: what was stored is known then.
func (m *Members) Raise(ctx context.Context, to generator.Tick) {
	m.unseen(ctx, func() {
		order := int64(0)
		for _, v := range m.r.History(ctx) {
			order = max(order, v.Order)
		}
		m.operate(ctx, m.r.tree(), func(ctx context.Context, o coord.Operator) { mustGet(o.Raise(ctx, to)) })
		m.r.raises = append(m.r.raises, audit.Raise{Tree: len(m.r.past), Last: len(m.r.past), Order: order, At: evidence.Now(), Floor: to})
	})
}

// unseen calls do while all daemons are cut off.
func (m *Members) unseen(ctx context.Context, do func()) {
	each(m.r.Hosts, func(h *Host) { h.Cut(ctx, Both) })
	do()
	each(m.r.Hosts, func(h *Host) { h.Heal(ctx) })
}

// restore brings all members back, whatever was done to them, and waits until all serve.
func (m *Members) restore(ctx context.Context) {
	each(m.all, func(member *box) {
		if member.state(ctx).Paused {
			member.Resume(ctx)
		}
		if member.isCut() {
			member.Heal(ctx)
		}
		member.Start(ctx)
	})
	m.await(ctx, memberCount)
}

// logs keeps the members' logs.
func (m *Members) logs(ctx context.Context) error {
	return caught(func() {
		for _, member := range m.all {
			text := mustGet(member.engine.Logs(ctx, member.container))
			must(os.WriteFile(filepath.Join(m.dir, member.Name+".log"), []byte(text), 0o644))
		}
	})
}

// removeBelow removes all that is in a directory, and leaves it.
func removeBelow(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	if err != nil {
		return fmt.Errorf("%s is not emptied: %w", dir, err)
	}
	return nil
}
