package move_test

import (
	"errors"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/coord/move"
	"github.com/flakeward/flakeward/internal/must"
)

// Without permission at the target nothing is sealed. Where the target's cluster record may be
// written and no worker ID's, the move stops there. It is taken back, or gone on with once that is
// allowed.
func TestPermissionsAreMissing(t *testing.T) {
	const secret = "a-password"
	c := etcdtest.Start(t, etcdtest.Options{RootPassword: secret})
	c.AddUser("ours", secret, "/from/")
	allow := func(key, end string) {
		must.Get(c.Client().RoleGrantPermission(t.Context(), "ours", key, end, clientv3.PermissionType(clientv3.PermReadWrite)))(t)
	}
	as := func(prefix string) string { return strings.Replace(c.URL(prefix), "://", "://ours:"+secret+"@", 1) }
	f := newFixture(t, as("from"), as("to"))
	denied := func(what string) {
		_, err := between(t, f.from, f.to).Run(t.Context())
		if refused := (*move.RefusedError)(nil); err == nil || errors.As(err, &refused) || !strings.Contains(err.Error(), "ours") {
			t.Errorf("%s: %v, want an error that names the user", what, err)
		}
	}
	denied("nothing may be written")
	if !f.extended() {
		t.Error("nothing may be written at the target, and the source grants no more")
	}
	allow("/to/layout", "")
	denied("the cluster record may be written")
	if f.extended() {
		t.Error("the source grants while it is sealed")
	}
	if aborted, err := between(t, f.from, f.to).Abort(t.Context()); err != nil || !aborted || !f.extended() {
		t.Errorf("taken back: %v, %v", aborted, err)
	}
	denied("again")
	allow("/to/", clientv3.GetPrefixRangeEnd("/to/"))
	must.Get(between(t, f.from, f.to).Run(t.Context()))(t)
	f.moved("with permission")
}
