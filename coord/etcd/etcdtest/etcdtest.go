// Package etcdtest gives tests real etcd servers, each a process of a released program, on
// loopback: one member or three, with or without TLS and users, that can be killed, hung, and
// started again on their data and their ports.
package etcdtest

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/flakeward/flakeward/internal/certtest"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/need"
	"github.com/flakeward/flakeward/internal/port"
)

// Releases are those of etcd whose servers can be started, the oldest first: Debian's package, and
// those that are supported.
var Releases = []string{"3.4", "3.5", "3.6", Newest}

// Newest is the release that tests run which do not name one.
const Newest = "3.7"

// Options are what a cluster is made with. The zero value is one member of the newest
// release, plain text, no users.
type Options struct {
	// Release is one of Releases, Newest if empty.
	Release string
	// Members is how many there are, 1 if 0.
	Members int
	// TLS has the servers speak TLS, by files that they read again for each connection.
	TLS certtest.Pair
	// ClientCA has them demand certificates that the authorities in this file have signed, in PEM;
	// the common name of one is the user.
	ClientCA string
	// ClientTLS is what Client uses, and is needed with TLS.
	ClientTLS *tls.Config
	// RootPassword turns users on: root has it, and Client is root.
	RootPassword string
	// Dir is where the members keep their data; the test's own if empty.
	Dir string
	// Flags are added to each server's command line.
	Flags []string
	// Frail members may end by themselves, as on a disk that fails.
	Frail bool
}

// Cluster is a cluster of etcd. Its methods are for the test's goroutine, except for Stop, Start,
// Hang and Leader, which are safe for concurrent use on different members.
type Cluster struct {
	t       testing.TB
	options Options
	program string
	members []*member

	once   sync.Once
	client *clientv3.Client
}

// readyTimeout bounds each wait for servers. It is long: only a test that fails waits for it.
const readyTimeout = time.Minute

// Start starts a cluster, waits until it serves, and ends it with the test.
func Start(t testing.TB, options Options) *Cluster {
	t.Helper()
	if options.Release == "" {
		options.Release = Newest
	}
	program := need.Etcd(t, options.Release)
	if options.Dir == "" {
		options.Dir = t.TempDir()
	}
	c := &Cluster{t: t, options: options, program: program}
	t.Cleanup(c.end)
	var peers []string
	for i := range max(1, options.Members) {
		m := &member{name: fmt.Sprintf("m%d", i)}
		m.dir, m.log = filepath.Join(options.Dir, m.name), filepath.Join(options.Dir, m.name+".log")
		m.clients, m.peers = must.Get(port.Reserve())(t), must.Get(port.Reserve())(t)
		peers = append(peers, m.name+"=http://"+m.peers.Address())
		c.members = append(c.members, m)
	}
	for _, m := range c.members {
		m.args = c.arguments(m, strings.Join(peers, ","))
	}
	c.StartAll()
	if options.RootPassword != "" {
		c.Do("", func(ctx context.Context, client *clientv3.Client) error {
			return turnUsersOn(ctx, client, options.RootPassword)
		})
	}
	return c
}

func (c *Cluster) arguments(m *member, peers string) []string {
	at, between := c.scheme()+m.clients.Address(), "http://"+m.peers.Address()
	args := []string{
		"--name", m.name, "--data-dir", m.dir, "--initial-cluster", peers,
		"--listen-client-urls", at, "--advertise-client-urls", at,
		"--listen-peer-urls", between, "--initial-advertise-peer-urls", between,
		"--heartbeat-interval", "50", "--election-timeout", "500",
		"--logger", "zap", "--log-outputs", "stderr", "--log-level", "debug",
		"--bcrypt-cost", "4", // the lowest: tests authenticate often
	}
	if c.options.Release != "3.4" { // which has no such flag
		args = append(args, "--unsafe-no-fsync") // what these servers wrote outlives them, as the machine does not go down
	}
	if c.secured() {
		args = append(args, "--cert-file", c.options.TLS.CertFile, "--key-file", c.options.TLS.KeyFile)
	}
	if c.options.ClientCA != "" {
		args = append(args, "--client-cert-auth", "--trusted-ca-file", c.options.ClientCA)
	}
	return append(args, c.options.Flags...)
}

func (c *Cluster) secured() bool { return c.options.TLS.CertFile != "" }

func (c *Cluster) scheme() string {
	if c.secured() {
		return "https://"
	}
	return "http://"
}

// JWT returns the flags for tokens that hold for ttl, which the members sign with a key of their
// own.
func JWT(t testing.TB, ttl time.Duration) []string {
	t.Helper()
	private, public := certtest.Keys(t)
	return []string{"--auth-token", fmt.Sprintf("jwt,pub-key=%s,priv-key=%s,sign-method=ES256,ttl=%v", public, private, ttl)}
}

// Endpoints are the members' client addresses, each host:port.
func (c *Cluster) Endpoints() []string {
	var all []string
	for i := range c.members {
		all = append(all, c.Endpoint(i))
	}
	return all
}

// Endpoint is a member's client address, host:port.
func (c *Cluster) Endpoint(i int) string { return c.members[i].clients.Address() }

// URL is the cluster as flakeward's --coord names it, without a user.
func (c *Cluster) URL(prefix string) string {
	return "etcd://" + strings.Join(c.Endpoints(), ",") + "/" + strings.Trim(prefix, "/")
}

// Client returns a client of all members, as root if there are users. The cluster closes it.
func (c *Cluster) Client() *clientv3.Client {
	c.t.Helper()
	c.once.Do(func() { c.client = must.Get(c.connect(c.options.RootPassword))(c.t) })
	return c.client
}

// connect makes a client, root's if there is a password.
func (c *Cluster) connect(password string) (*clientv3.Client, error) {
	config := clientv3.Config{
		Endpoints: c.Endpoints(), TLS: c.options.ClientTLS, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 20 * time.Millisecond, Multiplier: 1.6, MaxDelay: 100 * time.Millisecond},
			MinConnectTimeout: time.Second,
		})},
	}
	if password != "" {
		config.Username, config.Password, config.DialTimeout = "root", password, readyTimeout
	}
	return clientv3.New(config)
}

// Do has f use a client that is new: one that was logged in before cannot log in again at an etcd
// 3.4. It is root's, if there are users and password is root's.
func (c *Cluster) Do(password string, f func(context.Context, *clientv3.Client) error) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	client, err := c.connect(password)
	if err == nil {
		err = f(ctx, client)
		_ = client.Close() // answers with the end of its own context
	}
	if err != nil {
		c.t.Fatalf("etcdtest: etcd %s: %v", c.options.Release, err)
	}
}

// AsRoot has f use a client of root's.
func (c *Cluster) AsRoot(f func(context.Context, *clientv3.Client) error) {
	c.t.Helper()
	c.Do(c.options.RootPassword, f)
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

// AddUser makes a user who may read and write the keys that begin with prefix, and no other; none
// at all if prefix is empty. An empty password makes a user who is known by a certificate only.
func (c *Cluster) AddUser(name, password, prefix string) {
	c.t.Helper()
	c.AsRoot(func(ctx context.Context, client *clientv3.Client) error {
		return addUser(ctx, client, name, password, prefix)
	})
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

// Stop kills a member. It does nothing to one that is stopped.
func (c *Cluster) Stop(i int) { c.members[i].stop() }

// Start starts a member on its data and its ports, and waits until it is part of
// the cluster, if enough others run; otherwise it only starts it.
func (c *Cluster) Start(i int) {
	c.t.Helper()
	must.Do(c.t, c.members[i].start(c.program))
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

// StartAll starts all members that are stopped, and waits until they serve.
func (c *Cluster) StartAll() {
	c.t.Helper()
	for _, m := range c.members {
		must.Do(c.t, m.start(c.program))
	}
	c.Ready()
}

func (c *Cluster) running() (n int) {
	for _, m := range c.members {
		if running, paused, _ := m.state(); running && !paused {
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
	transport := &http.Transport{DisableKeepAlives: true}
	if c.secured() {
		transport.TLSClientConfig = c.options.ClientTLS.Clone()
		transport.TLSClientConfig.InsecureSkipVerify = true // tests give it certificates that have expired
	}
	for _, m := range c.members {
		for {
			running, paused, failed := m.state()
			if !running || paused || !failed && healthy(ctx, transport, c.scheme()+m.clients.Address()) {
				break
			}
			if failed || !pause(ctx, 10*time.Millisecond) {
				c.t.Fatalf("etcdtest: %s of etcd %s ended, or was not ready within %v; its log ends with\n%s", m.name, c.options.Release, readyTimeout, m.tail())
			}
		}
	}
}

func healthy(ctx context.Context, transport http.RoundTripper, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/health", nil)
	if err != nil {
		return false
	}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// Leader is the member that leads, or -1 if none of the running ones does now.
func (c *Cluster) Leader() int {
	for i, m := range c.members {
		if running, paused, _ := m.state(); !running || paused {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		status, err := c.Client().Status(ctx, c.Endpoint(i))
		cancel()
		if err == nil && status.Leader == status.Header.MemberId {
			return i
		}
	}
	return -1
}

// Hang stops a member's process where it is, so that it accepts connections and answers nothing,
// until resume is called; the end of the test does, too.
func (c *Cluster) Hang(i int) (resume func()) {
	c.t.Helper()
	if err := c.members[i].pause(); err != nil {
		c.t.Error(err)
	}
	return c.members[i].resume
}

// Logged reports whether a member has logged the text.
func (c *Cluster) Logged(i int, text string) bool {
	c.t.Helper()
	return bytes.Contains(must.Get(os.ReadFile(c.members[i].log))(c.t), []byte(text))
}

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

// Restore puts the data of a Backup in the place of the member's, which must be stopped.
func (c *Cluster) Restore(backup string) {
	c.t.Helper()
	m := c.only()
	must.Do(c.t, os.RemoveAll(m.dir))
	c.copyData(backup, m.dir)
}

func (c *Cluster) only() *member {
	c.t.Helper()
	if len(c.members) != 1 || c.running() != 0 {
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
	c.StopAll()
	for _, m := range c.members {
		_, _ = m.clients.Release(), m.peers.Release() // nobody else has them
		if m.failed && !c.options.Frail {
			c.t.Errorf("etcdtest: %s ended by itself; its log ends with\n%s", m.name, m.tail())
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
