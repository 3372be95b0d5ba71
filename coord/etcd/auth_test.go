package etcd_test

import (
	"errors"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/etcd"
	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/coord/secure"
	"github.com/flakeward/flakeward/internal/certtest"
	"github.com/flakeward/flakeward/internal/must"
)

// users is a cluster where "ours" may use the prefix /ours/, and "other" may not.
func users(t *testing.T, options etcdtest.Options) *etcdtest.Cluster {
	t.Helper()
	options.RootPassword = secret
	c := etcdtest.Start(t, options)
	c.AddUser("ours", secret, "/ours/")
	c.AddUser("other", secret, "/other/")
	return c
}

func TestUserAndPassword(t *testing.T) {
	ca := certtest.New(t, "ca")
	for name, options := range map[string]etcdtest.Options{
		"plain text": {},
		"TLS":        {TLS: ca.Server(), ClientTLS: ca.ClientConfig()},
		"three":      {Members: 3},
	} {
		t.Run(name, func(t *testing.T) {
			c := users(t, options)
			dial(t, etcd.Servers{Endpoints: c.Endpoints(), TLS: options.ClientTLS, User: "ours", Password: secret}, etcd.Config{}).works()
		})
	}
}

// Each refusal has its own words, and is over once the operator has set it right.
func TestRefusals(t *testing.T) {
	c := users(t, etcdtest.Options{})
	root := c.Client()
	const wrong = "wrong-" + secret
	for name, r := range map[string]struct {
		user, password, want string
		kind                 error
		mend                 func() error
	}{
		"wrong password": {"ours", wrong, `there is no user "ours", or the password is wrong`, coord.ErrLogin, func() error {
			_, err := root.UserChangePassword(t.Context(), "ours", wrong)
			return err
		}},
		"no such user": {"nobody", secret, `there is no user "nobody", or the password is wrong`, coord.ErrLogin, func() error {
			c.AddUser("nobody", secret, "/ours/")
			return nil
		}},
		"no permission": {"other", secret, `the user "other" may not read and write all keys that begin with /ours/`, coord.ErrAccess, func() error {
			_, err := root.RoleGrantPermission(t.Context(), "other", "/ours/", clientv3.GetPrefixRangeEnd("/ours/"), clientv3.PermissionType(clientv3.PermReadWrite))
			return err
		}},
		"no user": {"", "", "it knows only users: give --coord-user", coord.ErrLogin, func() error {
			_, err := root.AuthDisable(t.Context())
			return err
		}},
	} {
		if name == "no user" {
			continue // last, for it turns users off
		}
		t.Run(name, func(t *testing.T) {
			d := dial(t, etcd.Servers{Endpoints: c.Endpoints(), User: r.user, Password: r.password}, etcd.Config{Prefix: "/ours/" + r.user})
			if err := d.refused(r.want); !errors.Is(err, r.kind) {
				t.Errorf("%v is not: %v", err, r.kind)
			}
			must.Do(t, r.mend())
			d.works()
		})
	}
	t.Run("no user", func(t *testing.T) {
		d := dial(t, etcd.Servers{Endpoints: c.Endpoints()}, etcd.Config{})
		if err := d.refused("it knows only users: give --coord-user"); !errors.Is(err, coord.ErrLogin) {
			t.Errorf("%v is not ErrLogin", err)
		}
		must.Get(root.AuthDisable(t.Context()))(t)
		d.works()
	})
}

// A daemon whose permission is taken away keeps what it was granted, and goes on when
// it is given back: nothing is lost meanwhile.
func TestPermissionTakenAway(t *testing.T) {
	c := users(t, etcdtest.Options{})
	d := dial(t, etcd.Servers{Endpoints: c.Endpoints(), User: "ours", Password: secret}, etcd.Config{})
	claim := d.works()
	root := c.Client()
	must.Get(root.UserRevokeRole(t.Context(), "ours", "ours"))(t)
	if err := claim.Extend(t.Context(), progress(20)); !errors.Is(err, coord.ErrAccess) {
		t.Errorf("Extend: %v, want ErrAccess", err)
	}
	must.Get(root.UserGrantRole(t.Context(), "ours", "ours"))(t)
	d.extends(claim, 30)
}

// What a password was exchanged for ends, by its time or with the server that gave it,
// and is asked for anew.
func TestTokensAreRenewed(t *testing.T) {
	t.Parallel()
	c := users(t, etcdtest.Options{Flags: []string{"--auth-token-ttl", "1"}})
	d := dial(t, etcd.Servers{Endpoints: c.Endpoints(), User: "ours", Password: secret}, etcd.Config{TTL: 10 * time.Second})
	claim := d.works()
	// Only the server's log tells it: to ask with a token is to keep it.
	eventually(t, "the token's end", func() error {
		if !c.Logged(0, "deleted a simple token") {
			return errors.New("no token has ended")
		}
		return nil
	})
	if err := claim.Extend(t.Context(), progress(20)); err != nil {
		t.Errorf("Extend with a token that has expired: %v", err)
	}
	c.Stop(0)
	c.Start(0)
	d.extends(claim, 30)
	kept(t, d)
	if n := d.log.count("WARN", "invalid auth token"); n != 0 {
		t.Errorf("%d warnings:\n%s", n, d.log)
	}
}

// The common name of a client certificate is the user.
func TestUserByCertificate(t *testing.T) {
	ca := certtest.New(t, "ca")
	root := ca.ClientConfig(ca.Client("root"))
	c := users(t, etcdtest.Options{TLS: ca.Server(), ClientCA: ca.File, ClientTLS: root})
	c.AddUser("known", "", "/ours/")
	dial(t, etcd.Servers{Endpoints: c.Endpoints(), TLS: ca.ClientConfig(ca.Client("known"))}, etcd.Config{}).works()
	d := dial(t, etcd.Servers{Endpoints: c.Endpoints(), TLS: ca.ClientConfig(ca.Client("unknown"))}, etcd.Config{})
	d.refused("the user that the client certificate names may not read and write all keys that begin with /ours/")
	c.AddUser("unknown", "", "/ours/")
	d.works()
}

// A password that was changed at the servers, and then read again, is what the client logs in with:
// the session and its claims stay.
func TestPasswordReadAgain(t *testing.T) {
	c := users(t, etcdtest.Options{})
	current := &secure.Current{}
	d := dial(t, etcd.Servers{Endpoints: c.Endpoints(), User: "ours", Password: secret, Current: current}, etcd.Config{})
	claim := d.works()
	const changed = "changed-" + secret
	must.Get(c.Client().UserChangePassword(t.Context(), "ours", changed))(t)
	if err := claim.Extend(t.Context(), progress(20)); !errors.Is(err, coord.ErrLogin) {
		t.Errorf("Extend with the password of before: %v, want ErrLogin", err)
	}
	current.Set(nil, changed)
	d.extends(claim, 30)
}

// Authorities that were read again are those that the next connection goes by.
func TestAuthoritiesReadAgain(t *testing.T) {
	t.Parallel()
	ca, other := certtest.New(t, "ca"), certtest.New(t, "other")
	c := etcdtest.Start(t, etcdtest.Options{TLS: ca.Server(), ClientTLS: ca.ClientConfig()})
	current := &secure.Current{}
	d := dial(t, etcd.Servers{Endpoints: c.Endpoints(), TLS: other.ClientConfig(), Current: current}, etcd.Config{})
	_ = d.refused("not signed by an authority that is trusted here")
	current.Set(ca.ClientConfig(), "")
	d.works()
}
