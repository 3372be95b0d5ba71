package etcd_test

import (
	"errors"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/etcd"
	"github.com/flakeward/flakeward/internal/must"
)

// revision rises with every change of a key, also with one that was undone.
func (tr tree) revision() int64 {
	tr.t.Helper()
	got := must.Get(tr.Client().Get(tr.t.Context(), "/"))(tr.t)
	return got.Header.Revision
}

// layoutRecord returns the cluster record of c's tree.
func (tr tree) layoutRecord(c *etcd.Coordinator) (key, value string) {
	tr.t.Helper()
	key = c.Root() + "layout"
	got, err := tr.Client().Get(tr.t.Context(), key)
	if err != nil || len(got.Kvs) != 1 {
		tr.t.Fatalf("no layout record: %v", err)
	}
	return key, string(got.Kvs[0].Value)
}

func (tr tree) do(op clientv3.Op) {
	tr.t.Helper()
	must.Get(tr.Client().Do(tr.t.Context(), op))(tr.t)
}

// The cluster record alone is another's, and claims and records are just as their
// writers saw them last, as a tree made anew can have them by chance: its
// revisions start over. Nothing is written.
func TestLayoutRecordReplaced(t *testing.T) {
	const theirs = `{"layout":"layout","uuid":"THEIRS","identity":"i"}`
	for name, replace := range map[string]clientv3.Op{
		"another cluster": clientv3.OpPut("/flakeward/layout", theirs),
		"damaged":         clientv3.OpPut("/flakeward/layout", "{"),
		"gone":            clientv3.OpDelete("/flakeward/layout"),
	} {
		for _, call := range []struct {
			name string
			run  func(c coord.Coordinator, claim coord.Claim) error
		}{
			{"Extend", func(_ coord.Coordinator, claim coord.Claim) error {
				return claim.Extend(t.Context(), coord.Progress{Ceiling: 900})
			}},
			{"Release", func(_ coord.Coordinator, claim coord.Claim) error { return claim.Release(t.Context(), 10) }},
			{"Claim, sticky", func(c coord.Coordinator, _ coord.Claim) error {
				_, err := c.Claim(t.Context(), want(2))
				return err
			}},
			{"Claim, fresh", func(c coord.Coordinator, _ coord.Claim) error {
				_, err := c.Claim(t.Context(), coord.Request{Fresh: true, Latest: 1000})
				return err
			}},
		} {
			tr := newTree(t)
			c := tr.daemon("a")
			claim := tr.claim(c, want(1))
			tr.extend(claim, coord.Progress{Ceiling: 100})
			key, record := tr.layoutRecord(c)
			tr.do(replace)
			before := tr.revision()
			if err := call.run(c, claim); !errors.Is(err, coord.ErrOtherCluster) {
				t.Errorf("%s, %s: %v, want ErrOtherCluster", name, call.name, err)
			}
			if after := tr.revision(); after != before {
				t.Errorf("%s, %s: %d changes were made", name, call.name, after-before)
			}
			tr.do(clientv3.OpPut(key, record)) // it is final all the same
			if err := call.run(c, claim); !errors.Is(err, coord.ErrOtherCluster) {
				t.Errorf("%s, %s again: %v, want ErrOtherCluster", name, call.name, err)
			}
			if _, err := c.Join(t.Context(), coord.Layout{Text: "layout", Workers: 8}); !errors.Is(err, coord.ErrOtherCluster) {
				t.Errorf("%s, Join after %s: %v, want ErrOtherCluster", name, call.name, err)
			}
		}
	}
}
