// Package etcdtest runs real etcd servers in the test process, on loopback: one
// member or three, with or without TLS and users, that can be stopped as abruptly
// as a kill, hung, and started again on their data and their ports.
package etcdtest

import (
	"context"
	"crypto/tls"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/flakeward/flakeward/internal/must"
)

// Options are what a cluster is made with. The zero value is one member, plain text,
// no users.
type Options struct {
	// Members is how many there are, 1 if 0.
	Members int
	// TLS is what clients are met with; nil: plain text. If it demands client
	// certificates, the common name of one is the user, as etcd does it.
	TLS *tls.Config
	// ClientTLS is what Client uses, and is needed if TLS is set.
	ClientTLS *tls.Config
	// RootPassword turns users on: root has it, and Client is root.
	RootPassword string
	// TokenTTL is how long a token that a password was exchanged for holds, in
	// whole seconds; 5 min, etcd's own, if 0.
	TokenTTL time.Duration
	// Dir is where the members keep their data; the test's own if empty.
	Dir string
	// Log is what the members log to; nil: nothing.
	Log hclog.Logger
}

// Cluster is a cluster of etcd. Its methods are for the test's goroutine, except for
// Stop, Start, Hang and Leader, which are safe for concurrent use on different
// members.
type Cluster struct {
	t       testing.TB
	options Options
	members []*member
	client  *clientv3.Client
}

// readyTimeout bounds each wait for servers. It is long: only a test that fails
// waits for it.
const readyTimeout = time.Minute

// Start starts a cluster, waits until it serves, and ends it with the test.
func Start(t testing.TB, options Options) *Cluster {
	t.Helper()
	if options.Members == 0 {
		options.Members = 1
	}
	if options.Dir == "" {
		options.Dir = t.TempDir()
	}
	if options.Log == nil {
		options.Log = hclog.NewNullLogger()
	}
	c := &Cluster{t: t, options: options}
	peers := map[string]string{}
	for i := range options.Members {
		m := &member{cluster: c, name: fmt.Sprintf("m%d", i), dir: filepath.Join(options.Dir, fmt.Sprintf("m%d", i))}
		// The listeners are opened now and served later, so nobody takes the ports.
		for _, l := range []*net.Listener{&m.peers, &m.clients} {
			*l = must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
		}
		m.peerAddress, m.address = m.peers.Addr().String(), m.clients.Addr().String()
		peers[m.name] = "http://" + m.peerAddress
		c.members = append(c.members, m)
	}
	for _, m := range c.members {
		m.initial = peers
	}
	t.Cleanup(c.end)
	c.StartAll()
	if options.RootPassword != "" {
		c.enableAuth()
	}
	return c
}

// Endpoints are the members' client addresses, each host:port.
func (c *Cluster) Endpoints() []string {
	var all []string
	for _, m := range c.members {
		all = append(all, m.address)
	}
	return all
}

// Endpoint is a member's client address, host:port.
func (c *Cluster) Endpoint(i int) string { return c.members[i].address }

// URL is the cluster as flakeward's --coord names it, without a user.
func (c *Cluster) URL(prefix string) string {
	return "etcd://" + strings.Join(c.Endpoints(), ",") + "/" + strings.Trim(prefix, "/")
}

// Client returns a client of all members, as root if there are users. The cluster
// closes it.
func (c *Cluster) Client() *clientv3.Client {
	c.t.Helper()
	if c.client == nil {
		config := clientv3.Config{
			Endpoints: c.Endpoints(), TLS: c.options.ClientTLS, Logger: c.members[0].log(),
			DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
				Backoff:           backoff.Config{BaseDelay: 20 * time.Millisecond, Multiplier: 1.6, MaxDelay: 100 * time.Millisecond},
				MinConnectTimeout: time.Second,
			})},
		}
		if c.options.RootPassword != "" {
			config.Username, config.Password = "root", c.options.RootPassword
		}
		client, err := clientv3.New(config)
		if err != nil {
			c.t.Fatalf("etcdtest: make a client: %v", err)
		}
		c.client = client
	}
	return c.client
}

// enableAuth makes root and turns users on.
func (c *Cluster) enableAuth() {
	c.t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: c.Endpoints(), TLS: c.options.ClientTLS, Logger: c.members[0].log()})
	must.Do(c.t, err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(c.t.Context(), readyTimeout)
	defer cancel()
	if err := turnUsersOn(ctx, client, c.options.RootPassword); err != nil {
		c.t.Fatalf("etcdtest: turn users on: %v", err)
	}
}

func turnUsersOn(ctx context.Context, client *clientv3.Client, password string) error {
	_, err := client.UserAdd(ctx, "root", password)
	if err == nil {
		_, err = client.UserGrantRole(ctx, "root", "root")
	}
	if err == nil {
		_, err = client.AuthEnable(ctx)
	}
	return err
}

// AddUser makes a user who may read and write the keys that begin with prefix, and
// no other; none at all if prefix is empty. An empty password makes a user who is
// known by a certificate only.
func (c *Cluster) AddUser(name, password, prefix string) {
	c.t.Helper()
	client := c.Client()
	ctx, cancel := context.WithTimeout(c.t.Context(), readyTimeout)
	defer cancel()
	if err := addUser(ctx, client, name, password, prefix); err != nil {
		c.t.Fatalf("etcdtest: make the user %s: %v", name, err)
	}
}

func addUser(ctx context.Context, client *clientv3.Client, name, password, prefix string) error {
	_, err := client.UserAddWithOptions(ctx, name, password, &clientv3.UserAddOptions{NoPassword: password == ""})
	if err == nil && prefix != "" {
		if _, err = client.RoleAdd(ctx, name); err == nil {
			_, err = client.RoleGrantPermission(ctx, name, prefix, clientv3.GetPrefixRangeEnd(prefix), clientv3.PermissionType(clientv3.PermReadWrite))
		}
		if err == nil {
			_, err = client.UserGrantRole(ctx, name, name)
		}
	}
	return err
}

// Stop ends a member at once: its connections are cut, what it was asked stays
// unanswered, and it passes its leadership to nobody. It does nothing to one that is
// stopped.
func (c *Cluster) Stop(i int) { c.members[i].stop() }

// Start starts a member on its data and its ports, and waits until it is part of
// the cluster, if enough others run; otherwise it only starts it.
func (c *Cluster) Start(i int) {
	c.t.Helper()
	must.Do(c.t, c.members[i].start())
	if c.running() > len(c.members)/2 {
		c.Ready()
	}
}

// StopAll stops all members.
func (c *Cluster) StopAll() {
	var all sync.WaitGroup
	for _, m := range c.members {
		all.Go(m.stop)
	}
	all.Wait()
}

// StartAll starts all members and waits until they serve.
func (c *Cluster) StartAll() {
	c.t.Helper()
	var all sync.WaitGroup
	errs := make([]error, len(c.members))
	for i, m := range c.members {
		all.Go(func() { errs[i] = m.start() })
	}
	all.Wait()
	for _, err := range errs {
		must.Do(c.t, err)
	}
	c.Ready()
}

func (c *Cluster) running() int {
	n := 0
	for _, m := range c.members {
		if m.serving() != nil {
			n++
		}
	}
	return n
}

// Ready waits until each running member serves and has a leader.
func (c *Cluster) Ready() {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	for _, m := range c.members {
		server := m.serving()
		if server == nil {
			continue
		}
		select {
		case <-server.ReadyNotify():
		case <-ctx.Done():
			c.t.Fatalf("etcdtest: %s was not ready within %v", m.name, readyTimeout)
		}
		for server.Leader() == 0 {
			if !pause(ctx, 5*time.Millisecond) {
				c.t.Fatalf("etcdtest: %s found no leader within %v", m.name, readyTimeout)
			}
		}
	}
}

// Leader is the member that leads, or -1 if none of the running ones does now.
func (c *Cluster) Leader() int {
	for i, m := range c.members {
		if server := m.serving(); server != nil && server.Leader() == server.MemberID() {
			return i
		}
	}
	return -1
}

// Hang lets a member accept connections and answer nothing to clients, as one does
// whose process was stopped, until resume is called; the end of the test does, too.
// To the other members it goes on talking.
func (c *Cluster) Hang(i int) (resume func()) { return c.members[i].gate.close() }

// Wipe deletes all keys that begin with prefix; all there are if it is empty.
func (c *Cluster) Wipe(prefix string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	var err error
	if prefix == "" {
		_, err = c.Client().Delete(ctx, "\x00", clientv3.WithFromKey())
	} else {
		_, err = c.Client().Delete(ctx, prefix, clientv3.WithPrefix())
	}
	if err != nil {
		c.t.Fatalf("etcdtest: wipe: %v", err)
	}
}

// Backup copies the data of a cluster of one member, which must be stopped, and
// returns where it is for Restore.
func (c *Cluster) Backup() string {
	c.t.Helper()
	to := filepath.Join(c.t.TempDir(), "backup")
	c.copyData(c.only().dir, to)
	return to
}

// Restore puts the data of a Backup in the place of the member's, which must be
// stopped.
func (c *Cluster) Restore(backup string) {
	c.t.Helper()
	m := c.only()
	must.Do(c.t, os.RemoveAll(m.dir))
	c.copyData(backup, m.dir)
}

func (c *Cluster) only() *member {
	c.t.Helper()
	if len(c.members) != 1 || c.members[0].serving() != nil {
		c.t.Fatal("etcdtest: only one member that is stopped can be backed up or restored")
	}
	return c.members[0]
}

func (c *Cluster) copyData(from, to string) {
	c.t.Helper()
	must.Do(c.t, os.CopyFS(to, os.DirFS(from)))
	// CopyFS makes what the umask lets it; etcd wants its directories to itself.
	must.Do(c.t, filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, 0o700)
		}
		return err
	}))
}

// end stops all that there is.
func (c *Cluster) end() {
	if c.client != nil {
		_ = c.client.Close() // answers with the end of its own context
	}
	var all sync.WaitGroup
	for _, m := range c.members {
		all.Go(func() {
			m.stop()
			_ = m.peers.Close() // may be closed already
			_ = m.clients.Close()
		})
	}
	all.Wait()
	for _, m := range c.members {
		if m.failure != "" {
			c.t.Errorf("etcdtest: %s failed: %s", m.name, m.failure)
		}
	}
}

// pause returns false if ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	wait, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-wait.Done()
	return ctx.Err() == nil
}
