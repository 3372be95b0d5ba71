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
	var nodes []*node
	var claims []coord.Claim
	var calls []call
	for i, c := range callsOf(nil, nil)[1:] {
		n, claim := k.holder(fmt.Sprint("host", i), i, coord.Progress{Ceiling: 500})
		nodes, claims, calls = append(nodes, n), append(claims, claim), append(calls, named(callsOf(n, claim), c.name))
	}
	k.wipe()
	found := ""
	if anew {
		found = k.start("new").uuid
	}
	for i, call := range calls {
		for range 2 {
			err := call.run(k.Context())
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
	for _, c := range claims {
		n.above(c.Worker(), 0) // no record was written
	}
	// One that starts again joins the new cluster.
	if again := k.start("host0"); again.uuid != n.uuid {
		k.Errorf("joined cluster %s, want %s", again.uuid, n.uuid)
	}
}
