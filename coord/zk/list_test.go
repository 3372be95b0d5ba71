package zk_test

import (
	"fmt"
	"testing"

	gozk "github.com/go-zookeeper/zk"

	"github.com/flakeward/flakeward/coord/claims"
	"github.com/flakeward/flakeward/coord/zk"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/internal/must"
)

// A thousand claims and records are listed at once, those that vanish meanwhile left out.
func TestListOfAThousand(t *testing.T) {
	t.Parallel()
	w := newFixture(t, zktest.Shared(t))
	c, s := w.open()
	layout := w.join(s)
	const n = 1000
	var names []string
	var ops []any
	for worker := range n {
		names = append(names, fmt.Sprintf("%s/claims/%07d-inc-tok-%010d", w.root, worker, worker))
		ops = append(ops,
			&gozk.CreateRequest{Path: names[worker], Data: []byte("{}"), Acl: gozk.WorldACL(gozk.PermAll), Flags: gozk.FlagEphemeral},
			&gozk.CreateRequest{Path: fmt.Sprintf("%s/workers/%07d", w.root, worker), Data: []byte(fmt.Sprint(worker)), Acl: gozk.WorldACL(gozk.PermAll)})
	}
	must.Get(w.client.Multi(ops...))(w)
	for _, odd := range []string{"/claims/odd", "/workers/odd"} { // nobody's
		must.Get(w.client.Create(w.root+odd, nil, 0, gozk.WorldACL(gozk.PermAll)))(w)
	}
	found, err := s.Claims(t.Context(), layout, true)
	if err != nil || len(found) != n {
		t.Fatalf("%d claims, %v; want %d", len(found), err, n)
	}
	records := map[int]claims.Entry{}
	must.Do(t, s.Records(t.Context(), layout, 0, func(worker int, record claims.Entry) bool {
		records[worker] = record
		return true
	}))
	for _, c := range found {
		if record := records[c.Worker]; string(c.Value) != "{}" || string(record.Value) != fmt.Sprint(c.Worker) || record.Version != 1 {
			t.Fatalf("%+v with %+v", c, record)
		}
	}
	gone := make(chan struct{}, 1)
	zk.Intercept(c, func(k zk.Kind, send func() error) error {
		err := send()
		if k == "list the claims" {
			gone <- struct{}{}
			for _, name := range names[:10] {
				must.Do(w, w.client.Delete(name, -1))
			}
		}
		return err
	})
	found, err = s.Claims(t.Context(), layout, true)
	if err != nil || len(gone) != 1 || len(found) != n-10 {
		t.Errorf("%d claims, %v; want %d", len(found), err, n-10)
	}
}
