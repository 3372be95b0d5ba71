package daemon_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/internal/must"
)

// The page names the host that held an ID, also once all marks were raised while the daemon ran:
// then it says that as well, as who held the worker ID in a part of the raised time may be lost.
func TestThePageNamesTheHolderOfAnIDAfterARaise(t *testing.T) {
	c := config(dir(t))
	c.Cluster.Coord, c.Host, c.Grant.Publish = etcdtest.Start(t, etcdtest.Options{}).URL("x"), "alpha", 100*time.Millisecond
	r := start(t, c)
	id := r.next()
	apart := func() string {
		t.Helper()
		reply, body := get(t, r.web(), fmt.Sprint("/?id=", id))
		if reply.StatusCode != 200 {
			t.Fatal(reply.Status, body)
		}
		_, apart, _ := strings.Cut(body, "Fields of the ID")
		return apart
	}
	const holder, raised = "<dd>alpha</dd>", "the marks were raised to "
	if before := apart(); !strings.Contains(before, holder) || strings.Contains(before, raised) {
		t.Errorf("before a raise the page says\n%s", before)
	}
	by := operator(t, c.Cluster.Coord)
	must.Get(by.Inspect(t.Context()))(t)
	must.Get(by.Raise(t.Context(), layoutOf(t, c).TickAt(time.Now().Add(time.Hour).UnixNano())))(t)
	r.shows("marks-raised")
	if after := apart(); !strings.Contains(after, holder) || !strings.Contains(after, raised) {
		t.Errorf("after a raise the page says\n%s", after)
	}
}
