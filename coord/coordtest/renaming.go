package coordtest

import (
	"errors"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/internal/must"
)

var renaming = []testCase{
	{"new UUID: another cluster from then on, with the same records", renamed},
	{"new UUID: a lost reply leaves all of it done or none", renamedInDoubt},
}

// A copy of a cluster is given a UUID of its own.
func renamed(k *kit) {
	nodes := make([]*node, 4)
	for i := range nodes {
		nodes[i] = k.start("")
	}
	must.Do(k, k.stranger().join())
	o := k.operator()
	k.raise(o, 700)
	c := nodes[0].claim(wanting(1))
	k.extend(c, coord.Progress{Ceiling: 1500, Issued: 300})
	before := must.Get(k.Operator(k).Inspect(k.Context()))(k)

	id, err := o.NewUUID(k.Context())
	if err != nil || id == "" || id == before.UUID {
		k.Fatalf("NewUUID: %q, %v; it was %s", id, err, before.UUID)
	}
	after, err := o.Inspect(k.Context())
	if err != nil || after.UUID != id || after.ClusterEpoch == before.ClusterEpoch || after.ClusterEpoch == "" {
		k.Errorf("Inspect: %+v, %v; want UUID %s and another cluster epoch than %s", after, err, id, before.ClusterEpoch)
	}
	after.UUID, after.ClusterEpoch = before.UUID, before.ClusterEpoch
	if after != before {
		k.Errorf("the rest was %+v and is %+v", before, after)
	}
	// Who has joined the original is told by any call, and changes nothing here.
	for i, call := range []func(n *node) error{
		func(*node) error { return c.Extend(k.Context(), coord.Progress{Ceiling: 9000}) },
		func(n *node) error { _, err := n.Claim(k.Context(), anyone()); return err },
		func(n *node) error { _, err := n.Look(k.Context()); return err },
		func(n *node) error { _, err := n.Members(k.Context()); return err },
	} {
		var other *coord.ClusterError
		if err := call(nodes[i]); !errors.As(err, &other) || other.Ours != before.UUID || other.Cluster != id {
			k.Errorf("call %d: %v, want ErrOtherCluster from %s to %s", i, err, before.UUID, id)
		}
	}
	if m, ok := k.mark(o, 1); !ok || m.Ceiling != 1500 || m.Holder != c.Opening() {
		k.Errorf("the record is %+v, want it as it was", m)
	}
	k.revoke(nodes[0])
	fresh := k.start("")
	if fresh.uuid != id {
		k.Errorf("a fresh start joined %s, want %s", fresh.uuid, id)
	}
	if got := fresh.claim(wanting(c.Worker())); got.Worker() != 1 || got.Floor() != 1500 {
		k.Errorf("worker ID %d, floor %d; want 1, 1500", got.Worker(), got.Floor())
	}
}

func renamedInDoubt(k *kit) {
	var id string
	k.inDoubt(func(o coord.Operator, _ coord.Inspected) (err error) {
		id, err = o.NewUUID(k.Context())
		return err
	}, func(what string, before, after coord.Inspected, failure error) {
		renamed := after.UUID != before.UUID
		if renamed != (after.ClusterEpoch != before.ClusterEpoch) || failure == nil && id != after.UUID || !renamed && failure == nil {
			k.Errorf("%s: from %+v to %+v, and the answer was %q, %v", what, before, after, id, failure)
		}
	}, func(what string, _ coord.Operator, after coord.Inspected) { // made again, by one who looks first, it is done
		if again, err := k.operator().NewUUID(k.Context()); err != nil || again == after.UUID {
			k.Errorf("%s: made again, %q, %v", what, again, err)
		}
	})
}
