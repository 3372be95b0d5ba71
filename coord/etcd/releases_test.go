package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/metadata"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/etcd"
	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/coord/secure"
)

// loggedIn is a coordinator that has a claim at servers of a release, as a user with a password.
type loggedIn struct {
	dialled
	*etcdtest.Release
	claim   coord.Claim
	current *secure.Current
	to      int
}

func logIn(t *testing.T, options etcdtest.ReleaseOptions) *loggedIn {
	t.Helper()
	options.RootPassword = secret
	r := etcdtest.StartRelease(t, options)
	r.AddUser("ours", secret, "/ours/")
	current := &secure.Current{}
	d := dial(t, etcd.Servers{Endpoints: r.Endpoints(), User: "ours", Password: secret, Current: current}, etcd.Config{TTL: 10 * time.Second})
	return &loggedIn{dialled: d, Release: r, claim: d.works(), current: current, to: 10}
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
	select {
	case <-etcd.SessionLost(l.Coordinator):
		l.t.Fatalf("the session was lost after %s", after)
	default:
	}
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
	for i := range l.Release.Endpoints() {
		l.Release.Stop(i)
	}
	l.Release.Start()
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
		l := logIn(t, etcdtest.ReleaseOptions{Release: release, Flags: []string{"--auth-token-ttl", "1"}})
		eventually(t, "the token's end", func() error {
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
	})
}

// A signed token ends after its time, used or not, and whenever users or roles are changed.
func TestReleasesEndSignedTokens(t *testing.T) {
	t.Parallel()
	eachRelease(t, func(t *testing.T, release string) {
		l := logIn(t, etcdtest.ReleaseOptions{Release: release, Flags: etcdtest.JWT(t, 3*time.Second)})
		// One that is given now ends later than the coordinator's.
		l.Do("", func(ctx context.Context, c *clientv3.Client) error {
			given, err := c.Authenticate(ctx, "ours", secret)
			if err != nil {
				return err
			}
			eventually(t, "the token's end", func() error {
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
			eventually(t, "the session is renewed", func() error {
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
		l := logIn(t, etcdtest.ReleaseOptions{Release: release})
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
