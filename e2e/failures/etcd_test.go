//go:build linux

package failures

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/internal/certtest"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/need"
	"github.com/flakeward/flakeward/internal/process"
)

// etcd is a cluster of etcd whose members are processes.
type etcd struct {
	t       *testing.T
	program string
	members []*member
}

type member struct {
	address, peer string
	command       *exec.Cmd
	ended         chan struct{}
}

// etcdOptions are what members are started with. dirs are where they keep their data, if not in a
// directory of the test's.
type etcdOptions struct {
	release string // the newest if empty
	members int
	dirs    []string
	flags   []string
	tls     *certtest.Pair
}

// startEtcd starts members, and waits until they serve.
func startEtcd(t *testing.T, o etcdOptions) *etcd {
	t.Helper()
	if o.release == "" {
		o.release = etcdtest.Newest
	}
	e := &etcd{t: t, program: need.Etcd(t, o.release)}
	var all []string
	for i := range max(1, o.members) {
		m := &member{address: free(t), peer: free(t)}
		e.members = append(e.members, m)
		all = append(all, "m"+strconv.Itoa(i)+"=http://"+m.peer)
	}
	for i, m := range e.members {
		dir := filepath.Join(t.TempDir(), "m"+strconv.Itoa(i))
		if i < len(o.dirs) && o.dirs[i] != "" {
			dir = o.dirs[i]
		}
		flags := append([]string{"--initial-cluster", strings.Join(all, ",")}, o.flags...)
		e.run(i, m, dir, o.tls, flags)
	}
	if o.tls == nil {
		e.ready()
	}
	return e
}

// run starts a member.
func (e *etcd) run(i int, m *member, dir string, pair *certtest.Pair, flags []string) {
	e.t.Helper()
	scheme := "http://"
	if pair != nil {
		scheme, flags = "https://", append(flags, "--cert-file", pair.CertFile, "--key-file", pair.KeyFile)
	}
	args := append([]string{
		"--name", "m" + strconv.Itoa(i), "--data-dir", dir, "--logger", "zap", "--log-outputs", "stderr", "--log-level", "error",
		"--heartbeat-interval", "100", "--election-timeout", "1000",
		"--listen-client-urls", scheme + m.address, "--advertise-client-urls", scheme + m.address,
		"--listen-peer-urls", "http://" + m.peer, "--initial-advertise-peer-urls", "http://" + m.peer,
	}, flags...)
	m.command = exec.Command(e.program, args...)
	must.Do(e.t, process.Spawn(m.command))
	ended := make(chan struct{})
	m.ended = ended
	go func() {
		defer close(ended)
		_ = m.command.Wait() // it is killed
	}()
	e.t.Cleanup(func() { e.kill(i) })
}

// free is an address on loopback at which nothing listens.
func free(t *testing.T) string {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	return l.Addr().String()
}

func (e *etcd) addresses() []string {
	var all []string
	for _, m := range e.members {
		all = append(all, m.address)
	}
	return all
}

// ready waits until each member answers and knows a leader.
func (e *etcd) ready() {
	e.t.Helper()
	for _, m := range e.members {
		eventually(e.t, "etcd serves", func() error {
			return e.with(m, func(ctx context.Context, c *clientv3.Client) error {
				_, err := c.Get(ctx, "x")
				return err
			})
		})
	}
}

// with has f use a client of one member.
func (e *etcd) with(m *member, f func(context.Context, *clientv3.Client) error) error {
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{m.address}, Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	defer c.Close() // answers with the end of its own context
	ctx, cancel := context.WithTimeout(e.t.Context(), 5*time.Second)
	defer cancel()
	return f(ctx, c)
}

// leader is the member that leads.
func (e *etcd) leader() int {
	e.t.Helper()
	for i, m := range e.members {
		leads := false
		must.Do(e.t, e.with(m, func(ctx context.Context, c *clientv3.Client) error {
			is, err := c.Status(ctx, m.address)
			leads = err == nil && is.Leader == is.Header.MemberId
			return err
		}))
		if leads {
			return i
		}
	}
	e.t.Fatal("nobody leads")
	return 0
}

func (e *etcd) signal(s syscall.Signal, members ...int) {
	for _, i := range members {
		if err := e.members[i].command.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
			e.t.Error(err)
		}
	}
}

func (e *etcd) kill(members ...int) {
	e.signal(syscall.SIGKILL, members...)
	for _, i := range members {
		<-e.members[i].ended
	}
}

// addLearner adds a member that may not vote, and returns its address.
func (e *etcd) addLearner() string {
	e.t.Helper()
	i, m := len(e.members), &member{address: free(e.t), peer: free(e.t)}
	var all []string
	must.Do(e.t, e.with(e.members[0], func(ctx context.Context, c *clientv3.Client) error {
		added, err := c.MemberAddAsLearner(ctx, []string{"http://" + m.peer})
		if err != nil {
			return err
		}
		for _, has := range added.Members {
			name := has.Name
			if name == "" {
				name = "m" + strconv.Itoa(i)
			}
			all = append(all, name+"="+has.PeerURLs[0])
		}
		return nil
	}))
	e.members = append(e.members, m)
	e.run(i, m, filepath.Join(e.t.TempDir(), "learner"), nil, []string{"--initial-cluster", strings.Join(all, ","), "--initial-cluster-state", "existing"})
	eventually(e.t, "the learner answers", func() error {
		return e.with(m, func(ctx context.Context, c *clientv3.Client) error {
			_, err := c.Status(ctx, m.address)
			return err
		})
	})
	return m.address
}
