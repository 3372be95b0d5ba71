package coordtest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/internal/must"
)

var operating = []testCase{
	{"operator: sees the cluster that is there, whatever its layout", inspectCluster},
	{"operator: nothing comes before an inspection or after the end", inspectFirst},
	{"operator: marks are those of all worker IDs that were ever held", marks},
	{"operator: a claim that is cleared frees its worker ID until its daemon claims it again", cleared},
	{"operator: only a claim that is named exactly is cleared", clearedNothing},
	{"operator: a tree that was wiped is refused for good", operatorWiped},
	{"operator: every call ends with its context", operatorContexts},
}

func (k *kit) marks(o coord.Operator) []coord.Mark {
	k.Helper()
	return must.Get(o.Marks(k.Context()))(k)
}

// mark returns the worker ID's mark, if it has a record.
func (k *kit) mark(o coord.Operator, worker int) (coord.Mark, bool) {
	k.Helper()
	ms := k.marks(o)
	i := slices.IndexFunc(ms, func(m coord.Mark) bool { return m.Worker == worker })
	if i < 0 {
		return coord.Mark{}, false
	}
	return ms[i], true
}

func inspectCluster(k *kit) {
	n := k.start("a")
	c := n.claim(anyone())
	k.extend(c, coord.Progress{Ceiling: 300, Issued: 20})
	o := k.visitor()
	for range 2 { // once more changes nothing
		v, err := o.Inspect(k.Context())
		if err != nil || v != (coord.Inspected{Layout: text, UUID: n.uuid}) {
			k.Errorf("Inspect: %+v, %v; want the layout %q and cluster %s", v, err, text, n.uuid)
		}
	}
	ms, err := o.Members(k.Context())
	if err != nil || !slices.Equal(ms, n.members()) || len(ms) != 1 {
		k.Errorf("the operator sees %+v (%v), the daemon %+v", ms, err, n.members())
	}
	// It holds nothing, and its end takes nothing away.
	Close(k, o)
	k.extend(c, coord.Progress{Ceiling: 400})
}

func inspectFirst(k *kit) {
	_, c := k.holder("a", 0, coord.Progress{Ceiling: 300})
	for _, call := range operatorCalls(k.visitor(), c.Name()) {
		k.wants(call.name+" before Inspect", call.run(k.Context()), coord.ErrNotJoined)
	}
	o := k.operator()
	Close(k, o)
	for _, call := range append(operatorCalls(o, c.Name()), call{"Inspect", func(ctx context.Context) error { _, err := o.Inspect(ctx); return err }}) {
		k.wants(call.name+" after Close", call.run(k.Context()), coord.ErrClosed)
	}
	k.extend(c, coord.Progress{Ceiling: 400}) // none of it was done
}

func operatorContexts(k *kit) {
	_, c := k.holder("a", 0, coord.Progress{Ceiling: 300})
	for _, call := range operatorCalls(k.operator(), c.Name()) {
		k.wants(call.name+" with a context that has ended", call.run(ended()), context.Canceled)
	}
	_, err := k.visitor().Inspect(ended())
	k.wants("Inspect with a context that has ended", err, context.Canceled)
	k.extend(c, coord.Progress{Ceiling: 400})
}

func marks(k *kit) {
	n, gone := k.start("a"), k.start("b")
	o := k.operator()
	if ms := k.marks(o); len(ms) != 0 {
		k.Errorf("Marks of an empty cluster: %+v", ms)
	}
	held, free := n.claim(wanting(5)), gone.claim(wanting(2))
	k.extend(held, coord.Progress{Ceiling: 900, Issued: 30})
	k.extend(free, coord.Progress{Ceiling: 700, Issued: 50})
	k.revoke(gone)
	want := []coord.Mark{
		{Worker: 2, Ceiling: 700, Issued: 50, Holder: free.Opening()},
		{Worker: 5, Ceiling: 900, Issued: 30, Holder: held.Opening(), Claim: held.Name()},
	}
	if got := k.marks(o); !reflect.DeepEqual(got, want) {
		k.Errorf("Marks:\n%+v, want\n%+v", got, want)
	}
}

func cleared(k *kit) {
	n, c := k.holder("a", 3, coord.Progress{Ceiling: 1000, Issued: 100})
	other := n.hold(4)
	k.extend(other, coord.Progress{Ceiling: 1000})
	o := k.operator()
	must.Do(k, o.Clear(k.Context(), c.Name()))
	k.wants("Clear again", o.Clear(k.Context(), c.Name()), coord.ErrNoClaim)
	k.extend(c, coord.Progress{Ceiling: 1100})
	must.Do(k, o.Clear(k.Context(), c.Name())) // the claim that was made again
	// Free at once, and nothing lowered: its daemon may issue to the ceiling.
	k.begins(3, 1100)
	k.over("the claim that was cleared, after another's opening", c)
	k.extend(other, coord.Progress{Ceiling: 1100}) // of the same session
	n.above(3, 1100)
}

func clearedNothing(k *kit) {
	_, c := k.holder("a", 3, coord.Progress{Ceiling: 100})
	o := k.operator()
	for _, name := range []string{"", "nobody", c.Name() + "x", c.Name()[:len(c.Name())-1], "../layout", "/", "\xff\x00"} {
		k.wants(fmt.Sprintf("Clear(%q)", name), o.Clear(k.Context(), name), coord.ErrNoClaim)
	}
	k.extend(c, coord.Progress{Ceiling: 200})
}

func operatorWiped(k *kit) {
	c := k.start("a").claim(wanting(0))
	n := len(operatorCalls(nil, ""))
	operators := make([]client, n)
	for i := range operators {
		operators[i] = k.operator()
	}
	k.wipe()
	uuid := k.start("new").uuid
	for i, o := range operators {
		call := operatorCalls(o, c.Name())[i]
		for range 2 {
			var other *coord.ClusterError
			if err := call.run(k.Context()); !errors.As(err, &other) || other.Cluster != uuid {
				k.Errorf("%s: %v, want ErrOtherCluster that names %s", call.name, err, uuid)
			}
		}
	}
	if v := k.inspected(); v.Floor != 0 || v.ClusterEpoch != "" {
		k.Errorf("the new cluster was written to: %+v", v)
	}
}
