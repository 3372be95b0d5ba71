package zk_test

import (
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	gozk "github.com/go-zookeeper/zk"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/zk"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/internal/must"
)

func nowhere(netip.Addr) bool { return false }

// The node whose time is shown is made by whoever asks first, and is shut like all others.
func TestFirstQuestionForTheTime(t *testing.T) {
	t.Parallel()
	e := zktest.Shared(t)
	servers := zk.Servers{Addresses: e.Addresses(), Chroot: e.Chroot() + "/own", User: user, Password: password}
	const daemons = 8
	var all sync.WaitGroup
	for range daemons {
		c, _ := joined(t, servers, zk.Config{Own: nowhere})
		all.Go(func() {
			shown, err := c.Clocks(t.Context())
			if err != nil || len(shown) != 1 || shown[0].Err != nil || !strings.Contains(shown[0].Server, e.Addresses()[0]) {
				t.Errorf("Clocks: %+v, %v", shown, err)
			}
		})
	}
	all.Wait()
	client := e.Client()
	must.Do(t, client.AddAuth("digest", []byte(user+":"+password)))
	path := servers.Chroot + "/clock"
	if acl, _, err := client.GetACL(path); err != nil || !slices.Equal(acl, gozk.DigestACL(gozk.PermAll, user, password)) {
		t.Errorf("%s: ACL %v, %v", path, acl, err)
	}
	if value, stat, err := client.Get(path); err != nil || len(value) != 0 || stat.Version != daemons {
		t.Errorf("%s: %q, %+v, %v; want it set %d times", path, value, stat, err, daemons)
	}
}

// One server on this machine may lead, and so may one of which that is not known. Others are asked,
// and one that may not be written by us tells nothing.
func TestWhoIsAskedForTheTime(t *testing.T) {
	t.Parallel()
	e := zktest.Shared(t)
	here := func(a netip.Addr) bool { return a == netip.MustParseAddr("192.0.2.1") }
	root := e.Chroot()
	for name, c := range map[string]struct {
		more  []string
		shown int
		error string
	}{
		"all elsewhere":        {nil, 1, ""},
		"one here":             {[]string{"192.0.2.1:2181"}, 0, ""},
		"a name of none":       {[]string{"host.invalid:2181"}, 1, "host.invalid"},
		"one here, one nobody": {[]string{"192.0.2.1:2181", "host.invalid:2181"}, 0, ""},
	} {
		servers := zk.Servers{Addresses: append(slices.Clone(e.Addresses()), c.more...), Chroot: root}
		// The others are not dialed: nobody is there.
		d := dial(t, servers, zk.Config{Identity: identity(), Own: here})
		(&zk.Line{Address: e.Addresses()[0]}).Tap(d)
		must.Get(d.Join(t.Context(), layout))(t)
		shown, err := d.Clocks(t.Context())
		if err != nil || len(shown) != c.shown {
			t.Errorf("%s: %+v, %v; want %d", name, shown, err, c.shown)
			continue
		}
		if c.shown > 0 {
			wantError(t, name, shown[0], c.error)
		}
	}
	client := e.Client()
	must.Do(t, client.Delete(root+"/clock", -1))
	must.Get(client.Create(root+"/clock", nil, 0, gozk.DigestACL(gozk.PermAll, "else", "else")))(t)
	d, _ := joined(t, zk.Servers{Addresses: e.Addresses(), Chroot: root}, zk.Config{Own: nowhere})
	shown, err := d.Clocks(t.Context())
	if err != nil || len(shown) != 1 {
		t.Fatalf("Clocks: %+v, %v", shown, err)
	}
	wantError(t, "another's node", shown[0], "no access to "+root+"/clock")
}

// wantError wants a clock that was shown, or, if want is not empty, one that did not and says why.
func wantError(t *testing.T, name string, c coord.ServerClock, want string) {
	t.Helper()
	if want == "" && c.Err != nil || want != "" && (c.Err == nil || !strings.Contains(c.Err.Error(), want)) {
		t.Errorf("%s: %+v; want the error %q", name, c, want)
	}
}
