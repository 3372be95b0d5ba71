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
	o := k.raiseWhenJoined(700)
	n, c := k.holder("", 1, coord.Progress{Ceiling: 1500, Issued: 300})
	calls := callsOf(n, c)[1:]
	for i := range calls[:len(calls)-2] { // of those that need not the claim, each has a daemon of its own
		calls[i] = callsOf(k.start(""), c)[1+i]
	}
	before := k.inspected()
	id := must.Get(o.NewUUID(k.Context()))(k)
	if id == "" || id == before.UUID {
		k.Fatalf("NewUUID: %q; it was %s", id, before.UUID)
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
	for _, call := range calls {
		var other *coord.ClusterError
		if err := call.run(k.Context()); !errors.As(err, &other) || other.Ours != before.UUID || other.Cluster != id {
			k.Errorf("%s: %v, want ErrOtherCluster from %s to %s", call.name, err, before.UUID, id)
		}
	}
	if m, ok := k.mark(o, 1); !ok || m.Ceiling != 1500 || m.Holder != c.Opening() {
		k.Errorf("the record is %+v, want it as it was", m)
	}
	k.revoke(n)
	fresh := k.start("")
	if fresh.uuid != id {
		k.Errorf("a fresh start joined %s, want %s", fresh.uuid, id)
	}
	fresh.above(1, 1500)
}

func renamedInDoubt(k *kit) {
	var id string
	k.inDoubt(func(o client, _ coord.Inspected) (err error) {
		id, err = o.NewUUID(k.Context())
		return err
	}, func(what string, before, after coord.Inspected, failure error) {
		renamed := after.UUID != before.UUID
		if renamed != (after.ClusterEpoch != before.ClusterEpoch) || failure == nil && id != after.UUID || !renamed && failure == nil {
			k.Errorf("%s: from %+v to %+v, and the answer was %q, %v", what, before, after, id, failure)
		}
	}, func(what string, _ client, after coord.Inspected) { // made again, by one who looks first, it is done
		if again, err := k.operator().NewUUID(k.Context()); err != nil || again == after.UUID {
			k.Errorf("%s: made again, %q, %v", what, again, err)
		}
	})
}
