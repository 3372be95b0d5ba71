package coordtest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/flakeward/flakeward/coord"
)

var wiping = []testCase{
	{"wiped: a tree that is gone is refused for good", func(k *kit) { wiped(k, false) }},
	{"wiped: a tree that was made anew is refused for good", func(k *kit) { wiped(k, true) }},
}

// wiped makes every call on a tree of which only the old coordinators know. Each
// call has a coordinator of its own, which learns of it by that call.
func wiped(k *kit, anew bool) {
	if k.Wipe == nil {
		return
	}
	calls := []struct {
		name string
		run  func(n *node, c coord.Claim) error
	}{
		{"Extend", func(_ *node, c coord.Claim) error { return c.Extend(k.Context(), coord.Progress{Ceiling: 900}) }},
		{"Release", func(_ *node, c coord.Claim) error { return c.Release(k.Context(), 400) }},
		{"Claim of the same worker ID", func(n *node, c coord.Claim) error {
			_, err := n.Claim(k.Context(), wanting(c.Worker()))
			return err
		}},
		{"Claim as a re-lease", func(n *node, _ coord.Claim) error {
			_, err := n.Claim(k.Context(), fresh())
			return err
		}},
		{"Members", func(n *node, _ coord.Claim) error {
			_, err := n.Members(k.Context())
			return err
		}},
		{"Look", func(n *node, _ coord.Claim) error {
			_, err := n.Look(k.Context())
			return err
		}},
	}
	nodes, claims := make([]*node, len(calls)), make([]coord.Claim, len(calls))
	for i := range calls {
		nodes[i] = k.start(fmt.Sprint("host", i))
		claims[i] = nodes[i].claim(wanting(i))
		k.extend(claims[i], coord.Progress{Ceiling: 500})
	}
	k.Wipe(k)
	found := ""
	if anew {
		found = k.start("new").uuid
	}
	for i, call := range calls {
		for range 2 {
			err := call.run(nodes[i], claims[i])
			var other *coord.ClusterError
			if !errors.Is(err, coord.ErrOtherCluster) || !errors.As(err, &other) {
				k.Errorf("%s: %v, want ErrOtherCluster", call.name, err)
				continue
			}
			if other.Ours != nodes[i].uuid || other.Cluster != found {
				k.Errorf("%s: from cluster %q to %q, want %q and %q", call.name, other.Ours, other.Cluster, nodes[i].uuid, found)
			}
			if text := err.Error(); !strings.Contains(text, other.Ours) || !strings.Contains(text, found) {
				k.Errorf("%s: the error %q does not name both clusters", call.name, text)
			}
		}
	}
	// Nothing of the old cluster's is in the new one.
	n := k.start("newer")
	if anew && n.uuid != found || n.uuid == nodes[0].uuid {
		k.Errorf("joined cluster %s, after %s and %q", n.uuid, nodes[0].uuid, found)
	}
	if ms := n.members(); len(ms) != 0 {
		k.Errorf("the old cluster's daemons have claims in the new one: %+v", ms)
	}
	for i, c := range claims {
		if got := n.claim(wanting(c.Worker())); got.Worker() != i || got.Floor() != 0 {
			k.Errorf("worker ID %d above %d; want %d, 0: a record was written", got.Worker(), got.Floor(), i)
		}
	}
	// One that starts again joins the new cluster.
	if again := k.start("host0"); again.uuid != n.uuid {
		k.Errorf("joined cluster %s, want %s", again.uuid, n.uuid)
	}
}
