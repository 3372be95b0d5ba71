package etcd_test

import (
	"errors"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/etcd"
	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
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
	c := users(t, etcdtest.Options{Members: 3, TLS: ca.Server(), ClientTLS: ca.ClientConfig()})
	dial(t, etcd.Servers{Endpoints: c.Endpoints(), TLS: ca.ClientConfig(), User: "ours", Password: secret}, etcd.Config{}).works()
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
