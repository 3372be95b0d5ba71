package coordtest

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
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

// operator returns an operator that has inspected the cluster.
func (k *kit) operator() coord.Operator {
	k.Helper()
	o := k.Operator(k)
	if _, err := o.Inspect(k.Context()); err != nil {
		k.Fatalf("Inspect: %v", err)
	}
	return o
}

func (k *kit) marks(o coord.Operator) []coord.Mark {
	k.Helper()
	ms, err := o.Marks(k.Context())
	if err != nil {
		k.Fatalf("Marks: %v", err)
	}
	return ms
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
	o := k.Operator(k)
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

// operatorCalls is every call of an operator but Inspect and Close.
func operatorCalls(o coord.Operator, claim string) []call {
	return []call{
		{"Members", func(ctx context.Context) error { _, err := o.Members(ctx); return err }},
		{"Marks", func(ctx context.Context) error { _, err := o.Marks(ctx); return err }},
		{"Raise", func(ctx context.Context) error { _, err := o.Raise(ctx, 9000); return err }},
		{"Clear", func(ctx context.Context) error { return o.Clear(ctx, claim) }},
		{"Widen", func(ctx context.Context) error { return o.Widen(ctx, coord.WorkerRange{}, 9000) }},
		{"NewUUID", func(ctx context.Context) error { _, err := o.NewUUID(ctx); return err }},
		{"History", func(ctx context.Context) error { _, err := o.History(ctx, 0); return err }},
	}
}

func inspectFirst(k *kit) {
	n := k.start("a")
	c := n.claim(wanting(0))
	k.extend(c, coord.Progress{Ceiling: 300})
	o := k.Operator(k)
	for _, call := range operatorCalls(o, c.Name()) {
		if err := call.run(k.Context()); !errors.Is(err, coord.ErrNotJoined) {
			k.Errorf("%s before Inspect: %v, want ErrNotJoined", call.name, err)
		}
	}
	o = k.operator()
	Close(k, o)
	for _, call := range append(operatorCalls(o, c.Name()), call{"Inspect", func(ctx context.Context) error { _, err := o.Inspect(ctx); return err }}) {
		if err := call.run(k.Context()); !errors.Is(err, coord.ErrClosed) {
			k.Errorf("%s after Close: %v, want ErrClosed", call.name, err)
		}
	}
	k.extend(c, coord.Progress{Ceiling: 400}) // none of it was done
}

func operatorContexts(k *kit) {
	n := k.start("a")
	c := n.claim(wanting(0))
	k.extend(c, coord.Progress{Ceiling: 300})
	for _, call := range operatorCalls(k.operator(), c.Name()) {
		if err := call.run(ended()); !errors.Is(err, context.Canceled) {
			k.Errorf("%s with a context that has ended: %v", call.name, err)
		}
	}
	if _, err := k.Operator(k).Inspect(ended()); !errors.Is(err, context.Canceled) {
		k.Errorf("Inspect with a context that has ended: %v", err)
	}
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
	n := k.start("a")
	c, other := n.claim(wanting(3)), n.claim(wanting(4))
	k.extend(c, coord.Progress{Ceiling: 1000, Issued: 100})
	k.extend(other, coord.Progress{Ceiling: 1000})
	o := k.operator()
	if err := o.Clear(k.Context(), c.Name()); err != nil {
		k.Fatalf("Clear: %v", err)
	}
	if err := o.Clear(k.Context(), c.Name()); !errors.Is(err, coord.ErrNoClaim) {
		k.Errorf("Clear again: %v, want ErrNoClaim", err)
	}
	k.extend(c, coord.Progress{Ceiling: 1100})
	if err := o.Clear(k.Context(), c.Name()); err != nil {
		k.Fatalf("Clear of the claim that was made again: %v", err)
	}
	// Free at once, and nothing lowered: its daemon may issue to the ceiling.
	if got := k.floorOf(3); got != 1100 {
		k.Errorf("floor %d, want 1100", got)
	}
	for range 2 {
		if err := c.Extend(k.Context(), coord.Progress{Ceiling: 2000}); !errors.Is(err, coord.ErrLost) {
			k.Errorf("Extend of the claim that was cleared, after another's opening: %v, want ErrLost", err)
		}
	}
	if err := c.Release(k.Context(), 100); !errors.Is(err, coord.ErrLost) {
		k.Errorf("Release of the claim that was cleared: %v, want ErrLost", err)
	}
	k.extend(other, coord.Progress{Ceiling: 1100}) // of the same session
	if got := n.claim(wanting(3)); got.Worker() != 3 || got.Floor() != 1100 {
		k.Errorf("claimed again: worker ID %d above %d, want 3 above 1100", got.Worker(), got.Floor())
	}
}

func clearedNothing(k *kit) {
	n := k.start("a")
	c := n.claim(wanting(3))
	k.extend(c, coord.Progress{Ceiling: generator.Tick(100)})
	o := k.operator()
	for _, name := range []string{"", "nobody", c.Name() + "x", c.Name()[:len(c.Name())-1], "../layout", "/", "\xff\x00"} {
		if err := o.Clear(k.Context(), name); !errors.Is(err, coord.ErrNoClaim) {
			k.Errorf("Clear(%q): %v, want ErrNoClaim", name, err)
		}
	}
	k.extend(c, coord.Progress{Ceiling: 200})
}

func operatorWiped(k *kit) {
	if k.Wipe == nil {
		return
	}
	c := k.start("a").claim(wanting(0))
	n := len(operatorCalls(nil, ""))
	operators := make([]coord.Operator, n)
	for i := range operators {
		operators[i] = k.operator()
	}
	k.Wipe(k)
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
	if v, err := k.Operator(k).Inspect(k.Context()); err != nil || v.Floor != 0 || v.ClusterEpoch != "" {
		k.Errorf("the new cluster was written to: %+v, %v", v, err)
	}
}
