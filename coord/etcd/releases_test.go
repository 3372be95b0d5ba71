package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/metadata"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/etcd"
	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/coord/secure"
	"github.com/flakeward/flakeward/internal/certtest"
	"github.com/flakeward/flakeward/internal/must"
)

// loggedIn is a coordinator that has a claim at servers of a release, as a user with a password.
type loggedIn struct {
	dialled
	*etcdtest.Cluster
	claim   coord.Claim
	current *secure.Current
	to      int
}

func logIn(t *testing.T, options etcdtest.Options) *loggedIn {
	t.Helper()
	options.RootPassword = secret
	r := etcdtest.Start(t, options)
	r.AddUser("ours", secret, "/ours/")
	current := &secure.Current{}
	d := dial(t, etcd.Servers{Endpoints: r.Endpoints(), User: "ours", Password: secret, Current: current}, etcd.Config{TTL: 10 * time.Second})
	return &loggedIn{dialled: d, Cluster: r, claim: d.works(), current: current, to: 10}
}

// extend extends once.
func (l *loggedIn) extend() error {
	l.t.Helper()
	l.to += 10
	return l.claim.Extend(l.t.Context(), progress(l.to))
}

// goesOn wants the first try to succeed, and nothing to have been lost.
func (l *loggedIn) goesOn(after string) {
	l.t.Helper()
	if err := l.extend(); err != nil {
		l.t.Errorf("Extend after %s: %v", after, err)
	}
	kept(l.t, l.dialled)
}

// refuses wants a refusal of that kind.
func (l *loggedIn) refuses(kind error, after string) {
	l.t.Helper()
	if err := l.extend(); !errors.Is(err, kind) {
		l.t.Errorf("Extend after %s: %v, want: %v", after, err, kind)
	}
}

// root has a request made by root.
func root[R any](l *loggedIn, do func(context.Context, *clientv3.Client) (R, error)) {
	l.t.Helper()
	l.AsRoot(func(ctx context.Context, c *clientv3.Client) error {
		_, err := do(ctx, c)
		return err
	})
}

func (l *loggedIn) restart() {
	l.t.Helper()
	l.StopAll()
	l.StartAll()
}

// left is how many seconds the session's lease has to live.
func (l *loggedIn) left() (seconds int64) {
	l.t.Helper()
	l.AsRoot(func(ctx context.Context, c *clientv3.Client) error {
		shown, err := c.TimeToLive(ctx, etcd.Lease(l.Coordinator))
		if err == nil {
			seconds = shown.TTL
		}
		return err
	})
	return seconds
}

// holds reports whether the servers take a token for the login of "ours".
func holds(ctx context.Context, c *clientv3.Client, token string) bool {
	_, err := c.Get(metadata.AppendToOutgoingContext(ctx, rpctypes.TokenFieldNameGRPC, token), "/ours/x")
	return err == nil
}

// eachRelease runs a test for each release of etcd.
func eachRelease(t *testing.T, test func(t *testing.T, release string)) {
	for _, release := range etcdtest.Releases {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			test(t, release)
		})
	}
}

// A token of etcd's own kind ends after a time in which it was not used, and with the server that
// gave it.
func TestReleasesEndSimpleTokens(t *testing.T) {
	t.Parallel()
	eachRelease(t, func(t *testing.T, release string) {
		l := logIn(t, etcdtest.Options{Release: release, Flags: []string{"--auth-token-ttl", "1"}})
		must.Eventually(t, "the token's end", func() error {
			if !l.Logged(0, "deleted a simple token") {
				return errors.New("no token has ended")
			}
			return nil
		})
		l.goesOn("the end of the token")
		l.restart()
		l.goesOn("a restart")
		l.restart()
		l.goesOn("another restart")
		if n := l.log.count("WARN", "cannot renew the coordinator session"); n > 2 { // one for each restart
			t.Errorf("%d warnings that the session cannot be renewed:\n%s", n, l.log)
		}
		if n := l.log.count("WARN", "invalid auth token"); n != 0 {
			t.Errorf("%d warnings of a token that is asked for anew:\n%s", n, l.log)
		}
	})
}

// A signed token ends after its time, used or not, and whenever users or roles are changed.
func TestReleasesEndSignedTokens(t *testing.T) {
	t.Parallel()
	eachRelease(t, func(t *testing.T, release string) {
		l := logIn(t, etcdtest.Options{Release: release, Flags: etcdtest.JWT(t, 3*time.Second)})
		// One that is given now ends later than the coordinator's.
		l.Do("", func(ctx context.Context, c *clientv3.Client) error {
			given, err := c.Authenticate(ctx, "ours", secret)
			if err != nil {
				return err
			}
			must.Eventually(t, "the token's end", func() error {
				if holds(ctx, c, given.Token) {
					return errors.New("it holds")
				}
				return nil
			})
			return nil
		})
		l.goesOn("the end of the token")
		root(l, func(ctx context.Context, c *clientv3.Client) (*clientv3.AuthUserAddResponse, error) {
			return c.UserAdd(ctx, "other", secret)
		})
		l.goesOn("a change of users")
		l.restart()
		l.goesOn("a restart")
		// Renewals go on: they are what a server of 3.7 refuses for a token, too.
		for _, left := range []func(int64) bool{func(s int64) bool { return s < 8 }, func(s int64) bool { return s >= 8 }} {
			must.Eventually(t, "the session is renewed", func() error {
				if s := l.left(); !left(s) {
					return fmt.Errorf("its lease has %d s left", s)
				}
				return nil
			})
		}
		if n := l.log.count("WARN", "cannot renew the coordinator session"); n > 1 { // for the restart
			t.Errorf("%d warnings that the session cannot be renewed:\n%s", n, l.log)
		}
	})
}

// What an operator changes at the servers while a daemon runs: each refusal is said as one, and is
// over once it is set right, without a loss.
func TestReleasesChangeUsers(t *testing.T) {
	t.Parallel()
	eachRelease(t, func(t *testing.T, release string) {
		l := logIn(t, etcdtest.Options{Release: release})
		const changed = "changed-" + secret
		root(l, func(ctx context.Context, c *clientv3.Client) (*clientv3.AuthUserChangePasswordResponse, error) {
			return c.UserChangePassword(ctx, "ours", changed)
		})
		l.restart()
		l.refuses(coord.ErrLogin, "a change of the password")
		l.refuses(coord.ErrLogin, "a change of the password, again")
		l.current.Set(nil, changed)
		l.goesOn("the new password was read")

		root(l, func(ctx context.Context, c *clientv3.Client) (*clientv3.AuthUserRevokeRoleResponse, error) {
			return c.UserRevokeRole(ctx, "ours", "ours")
		})
		l.refuses(coord.ErrAccess, "the role was taken away")
		root(l, func(ctx context.Context, c *clientv3.Client) (*clientv3.AuthUserGrantRoleResponse, error) {
			return c.UserGrantRole(ctx, "ours", "ours")
		})
		l.goesOn("the role was given back")

		root(l, func(ctx context.Context, c *clientv3.Client) (*clientv3.AuthDisableResponse, error) {
			return c.AuthDisable(ctx)
		})
		l.goesOn("users were turned off")
		l.restart()
		l.goesOn("a restart without users")
		l.Do("", func(ctx context.Context, c *clientv3.Client) error {
			_, err := c.AuthEnable(ctx)
			return err
		})
		l.goesOn("users were turned on")
		// One who has never logged in.
		d := dial(t, etcd.Servers{Endpoints: l.Endpoints(), User: "ours", Password: secret, Current: l.current}, etcd.Config{Prefix: "/ours/2/"})
		d.works()
	})
}

// Certificates and authorities are replaced on disk, at the servers and here: each connection is
// made with what is there then, and authorities are read again when the daemon is told to.
func TestReleasesChangeCertificates(t *testing.T) {
	t.Parallel()
	eachRelease(t, func(t *testing.T, release string) {
		first, second, admins := certtest.New(t, "first"), certtest.New(t, "second"), certtest.New(t, "admins")
		dir := t.TempDir()
		in := func(name string) string { return filepath.Join(dir, name) }
		put := func(name string, from ...string) {
			t.Helper()
			var all []byte
			for _, f := range from {
				all = append(all, must.Get(os.ReadFile(f))(t)...)
			}
			must.Do(t, os.WriteFile(in(name), all, 0o600))
		}
		server := func(p certtest.Pair) { put("server.pem", p.CertFile); put("server-key.pem", p.KeyFile) }
		client := func(p certtest.Pair) { put("client.pem", p.CertFile); put("client-key.pem", p.KeyFile) }
		server(first.Server())
		client(first.Client("ours"))
		put("ca.pem", first.File)
		put("clients-ca.pem", admins.File, first.File)

		r := etcdtest.Start(t, etcdtest.Options{
			Release: release, RootPassword: secret, ClientTLS: first.ClientConfig(admins.Client("root")),
			TLS: certtest.Pair{CertFile: in("server.pem"), KeyFile: in("server-key.pem")}, ClientCA: in("clients-ca.pem"),
		})
		r.AddUser("ours", "", "/ours/")
		files := secure.TLS{CA: in("ca.pem"), Cert: in("client.pem"), Key: in("client-key.pem")}
		current := &secure.Current{}
		d := dial(t, etcd.Servers{Endpoints: r.Endpoints(), TLS: must.Get(files.Config(nil))(t), Current: current}, etcd.Config{TTL: 60 * time.Second})
		l := &loggedIn{dialled: d, Cluster: r, claim: d.works(), current: current, to: 10}
		says := func(want, after string) {
			t.Helper()
			err := l.extend()
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Extend after %s: %v, want: %s", after, err, want)
			}
			if errors.Is(err, coord.ErrLogin) != strings.Contains(want, "client") {
				t.Errorf("Extend after %s: %v, which is a refused login: %v", after, err, errors.Is(err, coord.ErrLogin))
			}
		}
		soon := func(after string) {
			t.Helper()
			must.Eventually(t, "Extend after "+after, l.extend)
			l.goesOn(after)
		}

		client(first.ExpiredClient("ours"))
		l.restart()
		says("client certificate", "the end of the client certificate")
		client(first.Client("ours"))
		soon("another client certificate")

		server(first.ExpiredServer())
		l.restart()
		says("its certificate is not valid now", "the end of the server's certificate")
		server(first.Server())
		soon("another certificate of the server")

		put("clients-ca.pem", admins.File, first.File, second.File)
		server(second.Server())
		l.restart()
		says("not signed by an authority that is trusted here", "a change of the server's authority")
		put("ca.pem", second.File)
		current.Set(must.Get(files.Config(nil))(t), "")
		soon("the authorities were read again")
		client(second.Client("ours"))
		put("clients-ca.pem", admins.File, second.File)
		l.restart()
		l.goesOn("both have certificates of the new authority")
		// What was wrong then is no reason for what fails now.
		l.StopAll()
		if err := l.extend(); err == nil || strings.Contains(err.Error(), "certificate") {
			t.Errorf("Extend without a server: %v; want that there is no answer", err)
		}
	})
}
