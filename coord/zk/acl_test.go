package zk_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	gozk "github.com/go-zookeeper/zk"
	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/claims"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/secure"
	"github.com/flakeward/flakeward/coord/zk"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/internal/must"
)

const (
	user     = "flake"
	password = "s3cret:with-colon"
)

// all returns the paths of a tree.
func all(t testing.TB, c *gozk.Conn, path string) []string {
	t.Helper()
	names, _, err := c.Children(path)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	paths := []string{path}
	for _, name := range names {
		paths = append(paths, all(t, c, path+"/"+name)...)
	}
	return paths
}

// With a user, all that is made is shut to everybody else.
func TestDigest(t *testing.T) {
	t.Parallel()
	e := zktest.Shared(t)
	root := e.Chroot() + "/own/tree" // what is above is made too
	var log logged
	ours := zk.Servers{Addresses: e.Addresses(), Chroot: root, User: user, Password: password}
	c, l := joined(t, ours, zk.Config{Log: log.At(hclog.Trace)})
	claim := claimed(t, c, 3)
	extend := func() {
		t.Helper()
		must.Do(t, claim.Extend(t.Context(), coord.Progress{Ceiling: 100}))
	}
	extend()
	// The user is given to each new connection, also to one that ends at once.
	for range 10 {
		l.Cut()
		eventually(t, "the claim is extended", func() bool {
			err := claim.Extend(t.Context(), coord.Progress{Ceiling: 100})
			if errors.Is(err, coord.ErrAccess) || errors.Is(err, coord.ErrLost) {
				t.Fatal(err)
			}
			return err == nil
		})
	}
	client := e.Client()
	must.Do(t, client.AddAuth("digest", []byte(user+":"+password)))
	want := gozk.DigestACL(gozk.PermAll, user, password)
	paths := all(t, client, strings.TrimSuffix(root, "/tree"))
	for _, path := range paths {
		if acl, _, err := client.GetACL(path); err != nil || !slices.Equal(acl, want) {
			t.Errorf("%s: ACL %v, %v", path, acl, err)
		}
	}
	// own, tree, layout and its token, four folders, a claim, a record, a host and a history
	if len(paths) != 12 {
		t.Errorf("the tree is %q", paths)
	}
	// Foreign ones.
	for name, servers := range map[string]zk.Servers{
		"nobody":         {},
		"wrong password": {User: user, Password: "other-s3cret"},
		"another user":   {User: "else", Password: password},
	} {
		servers.Addresses, servers.Chroot = ours.Addresses, ours.Chroot
		other := dial(t, servers, zk.Config{Identity: identity(), Log: log.At(hclog.Trace)})
		_, err := coordtest.CreateAndJoin(t.Context(), other, layout)
		if !errors.Is(err, coord.ErrAccess) {
			t.Errorf("%s: %v, want ErrAccess", name, err)
			continue
		}
		wants := []string{"no access to " + root, e.Addresses()[0], "give"}
		if servers.User != "" {
			wants = append(wants, servers.User, "password")
		}
		for _, want := range wants {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not say %q", name, err, want)
			}
		}
		if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: the password is in %q", name, err)
		}
	}
	extend()
	if log.count("client library:") == 0 {
		t.Error("what the library logs is not in the log; the case is void")
	}
	for _, secret := range []string{"s3cret", strings.SplitN(want[0].ID, ":", 2)[1]} {
		if log.count(secret) > 0 {
			t.Errorf("the log has %q:\n%s", secret, log.String())
		}
	}
}

// A chroot that was there before, and open, is no place for a user's tree: anybody
// could delete what is in it. Nothing is made there but what is missing.
func TestChrootThatIsOpen(t *testing.T) {
	t.Parallel()
	e := zktest.Shared(t)
	root := e.Chroot() + "/open"
	client := e.Client()
	must.Do(t, client.AddAuth("digest", []byte(user+":"+password)))
	ours := gozk.DigestACL(gozk.PermAll, user, password)
	create := func(path string, acl []gozk.ACL) {
		t.Helper()
		must.Get(client.Create(path, nil, gozk.FlagPersistent, acl))(t)
	}
	shut := func(path string, acl []gozk.ACL) {
		t.Helper()
		must.Get(client.SetACL(path, acl, -1))(t)
	}
	create(root, gozk.WorldACL(gozk.PermAll))
	join := func() error {
		t.Helper()
		c := dial(t, zk.Servers{Addresses: e.Addresses(), Chroot: root, User: user, Password: password}, zk.Config{Identity: identity()})
		_, err := coordtest.CreateAndJoin(t.Context(), c, layout)
		return err
	}
	refused := func(path string) {
		t.Helper()
		err := join()
		if !errors.Is(err, claims.ErrRefused) || !strings.Contains(err.Error(), path+" is open to everybody") || !strings.Contains(err.Error(), "setAcl") {
			t.Errorf("%v, want that %s is open and what to do", err, path)
		}
	}
	refused(root)
	if there, _, err := client.Exists(root + "/layout"); err != nil || there {
		t.Errorf("a layout was made there: %v, %v", there, err)
	}
	// That everybody may look is the administrator's choice.
	shut(root, append(gozk.WorldACL(gozk.PermRead), ours...))
	must.Do(t, join())
	for _, path := range []string{"/layout", "/claims", "/workers"} {
		shut(root+path, gozk.WorldACL(gozk.PermAll))
		refused(root + path)
		shut(root+path, ours)
	}
	must.Do(t, join())
}

// Two users below one parent: the second is told whose access it lacks.
func TestParentOfAnother(t *testing.T) {
	t.Parallel()
	e := zktest.Shared(t)
	parent := e.Chroot() + "/shared"
	first := zk.Servers{Addresses: e.Addresses(), Chroot: parent + "/a", User: user, Password: password}
	joined(t, first, zk.Config{})
	second := zk.Servers{Addresses: e.Addresses(), Chroot: parent + "/b", User: "else", Password: password}
	_, err := coordtest.CreateAndJoin(t.Context(), dial(t, second, zk.Config{Identity: identity()}), layout)
	if !errors.Is(err, coord.ErrAccess) || !strings.Contains(err.Error(), "takes access to what is above it") {
		t.Errorf("%v, want that the parent is another's", err)
	}
}

// Servers that take no user at all refuse, and the error says that it was they.
func TestUserThatIsNotTaken(t *testing.T) {
	t.Parallel()
	e := zktest.Start(t, zktest.Options{Config: map[string]string{"DigestAuthenticationProvider.enabled": "false"}})
	c, l := dial(t, zk.Servers{Addresses: e.Addresses(), User: user, Password: password}, zk.Config{Identity: identity(), TryTimeout: time.Second}), &zk.Line{}
	l.Tap(c)
	_, err := coordtest.CreateAndJoin(t.Context(), c, layout)
	if !errors.Is(err, coord.ErrLogin) || !strings.Contains(err.Error(), "do not take a user") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("%v", err)
	}
	if l.Dialed > 10 {
		t.Errorf("dialed %d times within a second", l.Dialed)
	}
}

// A password that is read again is one more that the user has: an operator gives the tree to it
// before or after, and what is made from then on is open to both.
func TestPasswordReadAgain(t *testing.T) {
	t.Parallel()
	e := zktest.Shared(t)
	const changed = "n3w"
	current := &secure.Current{}
	servers := zk.Servers{Addresses: e.Addresses(), Chroot: e.Chroot() + "/own", User: user, Password: password, Current: current}
	c, l := joined(t, servers, zk.Config{})
	claim := claimed(t, c, 3)
	extend := func() error { return claim.Extend(t.Context(), coord.Progress{Ceiling: 100}) }
	must.Do(t, extend())
	admin := e.Client()
	must.Do(t, admin.AddAuth("digest", []byte(user+":"+password)), admin.AddAuth("digest", []byte(user+":"+changed)))
	for _, path := range all(t, admin, servers.Chroot) {
		must.Get(admin.SetACL(path, gozk.DigestACL(gozk.PermAll, user, changed), -1))(t)
	}
	must.Fail(t, extend(), coord.ErrAccess)
	current.Set(nil, changed)
	must.Do(t, extend())
	other := claimed(t, c, 4)
	want := append(gozk.DigestACL(gozk.PermAll, user, password), gozk.DigestACL(gozk.PermAll, user, changed)...)
	if acl, _, err := admin.GetACL(servers.Chroot + "/claims/" + other.Name()); err != nil || !slices.Equal(acl, want) {
		t.Errorf("what is made then has the ACL %v, %v", acl, err)
	}
	l.Cut()
	eventually(t, "the claim is extended", func() bool {
		err := extend()
		if errors.Is(err, coord.ErrAccess) {
			t.Fatal(err)
		}
		return err == nil
	})
}
