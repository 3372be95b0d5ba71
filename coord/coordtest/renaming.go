package coordtest

import (
	"errors"

	"github.com/flakeward/flakeward/coord"
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
	if _, err := k.join(600); err != nil {
		k.Fatal(err)
	}
	o := k.operator()
	k.raise(o, 700)
	c := nodes[0].claim(wanting(1))
	k.extend(c, coord.Progress{Ceiling: 1500, Issued: 300, Mark: 400})
	before, err := k.Operator(k).Visit(k.Context())
	if err != nil {
		k.Fatal(err)
	}

	id, err := o.NewUUID(k.Context())
	if err != nil || id == "" || id == before.UUID {
		k.Fatalf("NewUUID: %q, %v; it was %s", id, err, before.UUID)
	}
	after, err := o.Visit(k.Context())
	if err != nil || after.UUID != id || after.Era == before.Era || after.Era == "" {
		k.Errorf("Visit: %+v, %v; want UUID %s and another era than %s", after, err, id, before.Era)
	}
	after.UUID, after.Era = before.UUID, before.Era
	if after != before {
		k.Errorf("the rest was %+v and is %+v", before, after)
	}
	// Who has joined the original is told by any call, and changes nothing here.
	for i, call := range []func(n *node) error{
		func(*node) error { return c.Extend(k.Context(), coord.Progress{Ceiling: 9000}) },
		func(n *node) error { _, err := Claim(k.Context(), n, anyone()); return err },
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
	// A journal of the original's is of another era, even if nobody compares the UUIDs.
	k.revoke(nodes[0])
	fresh := k.start("")
	if fresh.uuid != id {
		k.Errorf("a fresh start joined %s, want %s", fresh.uuid, id)
	}
	if got := fresh.claim(continuing(c, 1<<40)); got.Worker() != 1 || got.Continues() || got.Floor() != 1500 {
		k.Errorf("worker ID %d, continues %v, floor %d; want 1, false, 1500", got.Worker(), got.Continues(), got.Floor())
	}
}

func renamedInDoubt(k *kit) {
	if k.Fault == nil {
		return
	}
	k.start("first")
	for _, landed := range []bool{false, true} {
		for n := 0; ; n++ {
			o := k.operator()
			before, err := k.Operator(k).Visit(k.Context())
			if err != nil {
				k.Fatal(err)
			}
			c, ok := o.(coord.Coordinator)
			if !ok {
				k.Fatalf("%T cannot be made to fail", o)
			}
			happened := k.Fault(k, c, n, landed)
			id, failure := o.NewUUID(k.Context())
			after, err := k.Operator(k).Visit(k.Context())
			if err != nil {
				k.Fatal(err)
			}
			renamed := after.UUID != before.UUID
			if renamed != (after.Era != before.Era) || failure == nil && id != after.UUID || !renamed && failure == nil {
				k.Errorf("request %d, landed %v: from %+v to %+v, and the answer was %q, %v", n, landed, before, after, id, failure)
			}
			if !happened() {
				if n == 0 || failure != nil {
					k.Fatalf("request %d, landed %v: %v; the case is void", n, landed, failure)
				}
				break
			}
			// Made again, by one who looks first, it is done.
			if again, err := k.operator().NewUUID(k.Context()); err != nil || again == after.UUID {
				k.Errorf("request %d, landed %v: made again, %q, %v", n, landed, again, err)
			}
		}
	}
}
