package etcdtest

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/flakeward/flakeward/internal/certtest"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/process"
)

// Releases are those of etcd whose servers Release can start: Debian's package, and two that are
// supported beside the newest.
var Releases = []string{"3.4", "3.5", "3.6", "3.7"}

// ReleaseOptions are what servers of a release are started with. The zero value of all but Release
// is one member, plain text, no users, and etcd's own kind of token.
type ReleaseOptions struct {
	// Release is one of Releases.
	Release string
	// Members is how many there are, 1 if 0.
	Members int
	// TLS has the servers speak TLS, by files that they read again for each connection.
	TLS *certtest.Pair
	// ClientCA has them ask for certificates that these authorities have signed, in PEM; their
	// common names are users.
	ClientCA string
	// ClientTLS is what Client uses, and is needed with TLS.
	ClientTLS *tls.Config
	// RootPassword turns users on; Client is root.
	RootPassword string
	// Flags are added to each server's command line.
	Flags []string
}

// Release is a cluster of etcd as its users have it: each member is a process of a released
// program. Its methods are for the test's goroutine.
type Release struct {
	t       testing.TB
	options ReleaseOptions
	program string
	members []*releasedMember
}

type releasedMember struct {
	name, address, log string
	args               []string
	command            *exec.Cmd // nil while stopped
}

// StartRelease starts servers, waits until they serve, and ends them with the test.
func StartRelease(t testing.TB, options ReleaseOptions) *Release {
	t.Helper()
	r := &Release{t: t, options: options, program: Program(t, options.Release)}
	scheme, dir := "http://", t.TempDir()
	if options.TLS != nil {
		scheme = "https://"
	}
	var peers []string
	for i := range max(1, options.Members) {
		m := &releasedMember{name: fmt.Sprintf("m%d", i), address: freeAddress(t)}
		peer := "http://" + freeAddress(t)
		peers = append(peers, m.name+"="+peer)
		m.log = filepath.Join(dir, m.name+".log")
		m.args = append([]string{
			"--name", m.name, "--data-dir", filepath.Join(dir, m.name),
			"--listen-client-urls", scheme + m.address, "--advertise-client-urls", scheme + m.address,
			"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
			"--heartbeat-interval", "50", "--election-timeout", "500",
			"--logger", "zap", "--log-outputs", "stderr", "--log-level", "debug", "--bcrypt-cost", "4",
		}, options.Flags...)
		if options.TLS != nil {
			m.args = append(m.args, "--cert-file", options.TLS.CertFile, "--key-file", options.TLS.KeyFile)
		}
		if options.ClientCA != "" {
			m.args = append(m.args, "--client-cert-auth", "--trusted-ca-file", options.ClientCA)
		}
		r.members = append(r.members, m)
	}
	for _, m := range r.members {
		m.args = append(m.args, "--initial-cluster", strings.Join(peers, ","))
	}
	t.Cleanup(func() {
		for i := range r.members {
			r.Stop(i)
		}
	})
	r.Start()
	if options.RootPassword != "" {
		r.Do("", func(ctx context.Context, c *clientv3.Client) error { return turnUsersOn(ctx, c, options.RootPassword) })
	}
	return r
}

// JWT returns the flags for tokens that hold for ttl, which the members sign with a key of their
// own.
func JWT(t testing.TB, ttl time.Duration) []string {
	t.Helper()
	private, public := certtest.Keys(t)
	return []string{"--auth-token", fmt.Sprintf("jwt,pub-key=%s,priv-key=%s,sign-method=ES256,ttl=%v", public, private, ttl)}
}

// freeAddress returns an address on loopback where nothing listens.
func freeAddress(t testing.TB) string {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	return l.Addr().String()
}

// Endpoints are the members' client addresses, each host:port.
func (r *Release) Endpoints() []string {
	var all []string
	for _, m := range r.members {
		all = append(all, m.address)
	}
	return all
}

// Start starts the members that do not run, and waits until they serve.
func (r *Release) Start() {
	r.t.Helper()
	for _, m := range r.members {
		if m.command == nil {
			must.Do(r.t, m.start(r.program))
		}
	}
	r.ready()
}

func (m *releasedMember) start(program string) error {
	log, err := os.OpenFile(m.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own copy
	command := exec.Command(program, m.args...)
	command.Stdout, command.Stderr, command.SysProcAttr = log, log, process.Orphanless()
	if err := command.Start(); err != nil {
		return err
	}
	m.command = command
	return nil
}

// Stop kills a member. It does nothing to one that is stopped.
func (r *Release) Stop(i int) {
	m := r.members[i]
	if m.command == nil {
		return
	}
	_ = m.command.Process.Kill()
	_ = m.command.Wait() // killed
	m.command = nil
}

// ready waits until each member that runs serves and has a leader.
func (r *Release) ready() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	scheme := "http://"
	transport := &http.Transport{DisableKeepAlives: true}
	if r.options.TLS != nil {
		scheme, transport.TLSClientConfig = "https://", r.options.ClientTLS.Clone()
		transport.TLSClientConfig.InsecureSkipVerify = true // tests give it certificates that have expired
	}
	for _, m := range r.members {
		for m.command != nil && !healthy(ctx, transport, scheme+m.address) {
			if !pause(ctx, 20*time.Millisecond) {
				r.t.Fatalf("etcdtest: %s of etcd %s was not ready within %v; its log ends with\n%s", m.name, r.options.Release, readyTimeout, m.tail())
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

// tail is the end of the member's log.
func (m *releasedMember) tail() []byte {
	text, _ := os.ReadFile(m.log) // it may have none
	return text[max(0, len(text)-4000):]
}

// Logged reports whether a member has logged the text.
func (r *Release) Logged(i int, text string) bool {
	r.t.Helper()
	return bytes.Contains(must.Get(os.ReadFile(r.members[i].log))(r.t), []byte(text))
}

// Do has f use a client that is new: one that was logged in before cannot log in again at an etcd
// 3.4. It is root's, if there are users and password is root's.
func (r *Release) Do(password string, f func(context.Context, *clientv3.Client) error) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	config := clientv3.Config{Endpoints: r.Endpoints(), TLS: r.options.ClientTLS, Logger: zap.NewNop(), DialTimeout: readyTimeout}
	if password != "" {
		config.Username, config.Password = "root", password
	}
	client, err := clientv3.New(config)
	if err == nil {
		err = f(ctx, client)
		_ = client.Close() // answers with the end of its own context
	}
	if err != nil {
		r.t.Fatalf("etcdtest: etcd %s: %v", r.options.Release, err)
	}
}

// AsRoot has f use a client of root's.
func (r *Release) AsRoot(f func(context.Context, *clientv3.Client) error) {
	r.t.Helper()
	r.Do(r.options.RootPassword, f)
}

// AddUser makes a user as Cluster's does.
func (r *Release) AddUser(name, password, prefix string) {
	r.t.Helper()
	r.AsRoot(func(ctx context.Context, c *clientv3.Client) error { return addUser(ctx, c, name, password, prefix) })
}

// Program returns the path of a release's server, which is built below .bin if it is not there.
func Program(t testing.TB, release string) string {
	t.Helper()
	script := filepath.Join("coord", "etcd", "etcdtest", "releases", "build.sh")
	top := must.Get(os.Getwd())(t) // a package's directory
	for {
		if _, err := os.Stat(filepath.Join(top, script)); err == nil {
			break
		}
		if top == filepath.Dir(top) {
			t.Fatalf("etcdtest: there is no %s above this directory", script)
		}
		top = filepath.Dir(top)
	}
	var said bytes.Buffer
	command := exec.Command("sh", filepath.Join(top, script), release, filepath.Join(top, ".bin", "etcd"))
	command.Stderr = &said
	path, err := command.Output()
	if err != nil {
		t.Fatalf("etcdtest: etcd %s cannot be had: %v\n%s", release, err, &said)
	}
	return strings.TrimSpace(string(path))
}
