package coordtest

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/internal/must"
)

var creating = []testCase{
	{"create: makes a cluster, and never another one", created},
	{"create: of many at once, one makes the cluster", createdAtOnce},
	{"create: a request that cannot be is refused, and makes nothing", createdWrongly},
	{"create: a lost request or reply leaves it done or not", createdInDoubt},
	{"create: a late write of the tree that was wiped does not pass in the new one", createdAnew},
}

func created(k *kit) {
	o, want := k.visitor(), k.cluster()
	want.Window, want.Floor, want.Range = 600, 5000, upper
	first := must.Get(o.Create(k.Context(), want))(k)
	if got, uuid := first, first.UUID; !got.Made || uuid == "" || got.Inspected != (coord.Inspected{Layout: text, UUID: uuid, Floor: 5000, Window: 600, Longest: 600, Range: upper}) {
		k.Errorf("created %+v of %+v", got, want)
	}
	if v := k.inspected(); v != first.Inspected {
		k.Errorf("Inspect: %+v; want %+v", v, first.Inspected)
	}
	first.Made = false
	for _, o := range []client{o, k.operator()} {
		other := coord.NewCluster{Text: "another layout", Workers: 2, Floor: 9000}
		if again, err := o.Create(k.Context(), other); err != nil || again != first {
			k.Errorf("created again: %+v, %v; want %+v", again, err, first)
		}
	}
	n := k.start("a")
	if n.uuid != first.UUID {
		k.Errorf("joined cluster %s, want %s", n.uuid, first.UUID)
	}
	// Every worker ID begins above the floor, also one that was given back.
	c := n.above(upper.First, 5000)
	k.extend(c, coord.Progress{Ceiling: 6000})
	k.release(c, 0)
	k.begins(upper.First, 5000)
	r := fresh()
	r.Latest = 4999
	var ahead *coord.AheadError
	if _, err := n.Claim(k.Context(), r); !errors.As(err, &ahead) || ahead.Lowest != 5000 {
		k.Errorf("a re-lease at tick 4999: %v, want an AheadError of 5000", err)
	}
	_, err := o.Create(ended(), want)
	must.Fail(k, err, context.Canceled)
	Close(k, o)
	_, err = o.Create(k.Context(), want)
	must.Fail(k, err, coord.ErrClosed)
}

func createdAtOnce(k *kit) {
	const all = 16
	operators, found, errs := make([]client, all), make([]coord.Created, all), make([]error, all)
	for i := range operators {
		operators[i] = k.visitor()
	}
	want := k.cluster()
	var wg sync.WaitGroup
	for i, o := range operators {
		wg.Go(func() { found[i], errs[i] = o.Create(k.Context(), want) })
	}
	wg.Wait()
	must.Do(k, errors.Join(errs...))
	made := 0
	for _, f := range found {
		if f.Made {
			made++
		}
		if f.UUID != found[0].UUID {
			k.Errorf("two clusters: UUID %q and %q", f.UUID, found[0].UUID)
		}
	}
	if made != 1 {
		k.Errorf("%d of %d have made the cluster, want one", made, all)
	}
}

func createdWrongly(k *kit) {
	o := k.visitor()
	for name, change := range map[string]func(*coord.NewCluster){
		"no layout":                  func(c *coord.NewCluster) { c.Text = "" },
		"no worker IDs":              func(c *coord.NewCluster) { c.Workers = 0 },
		"too many worker IDs":        func(c *coord.NewCluster) { c.Workers = coord.MaxWorkers + 1 },
		"a range beyond the layout":  func(c *coord.NewCluster) { c.Range = coord.WorkerRange{First: 7, Count: 2} },
		"a window that is negative":  func(c *coord.NewCluster) { c.Window = -1 },
		"a floor before all of time": func(c *coord.NewCluster) { c.Floor = -1 },
	} {
		want := k.cluster()
		change(&want)
		if got, err := o.Create(k.Context(), want); err == nil {
			k.Errorf("%s: created %+v", name, got)
		}
	}
	_, err := o.Inspect(k.Context())
	must.Fail(k, err, coord.ErrNoCluster)
	_, err = o.Marks(k.Context())
	must.Fail(k, err, coord.ErrNotJoined)
}

func createdInDoubt(k *kit) {
	k.eachFault(func(what string, arm func(coord.Coordinator) func() bool) bool {
		o, want := k.visitor(), k.cluster()
		happened := arm(o)
		want.Floor = 100
		first, failure := o.Create(k.Context(), want)
		if !happened() {
			must.Do(k, failure)
			o = k.visitor() // whose requests all pass
		}
		want.Floor = 200
		again := must.Get(o.Create(k.Context(), want))(k)
		switch {
		case failure == nil && (again.Made || again.Inspected != first.Inspected):
			k.Errorf("%s: created %+v, and again %+v", what, first, again)
		case again.Made != (again.Floor == 200):
			k.Errorf("%s: created again, %+v", what, again)
		}
		if v := k.inspected(); v != again.Inspected {
			k.Errorf("%s: Inspect: %+v; want %+v", what, v, again.Inspected)
		}
		k.wipe()
		return happened()
	})
}

// state is all that operators see of a tree.
type state struct {
	inspected coord.Inspected
	marks     []coord.Mark
	members   []coord.Member
}

func (k *kit) state() state {
	k.Helper()
	o := k.visitor()
	s := state{inspected: must.Get(o.Inspect(k.Context()))(k), marks: k.marks(o), members: must.Get(o.Members(k.Context()))(k)}
	for i := range s.members {
		s.members[i].Since = time.Time{}
	}
	Close(k, o)
	return s
}

// stored is the state without the claims: whoever finds that its claim is lost deletes that.
func (k *kit) stored() state {
	k.Helper()
	s := k.state()
	s.members = nil
	for i := range s.marks {
		s.marks[i].Claim = ""
	}
	return s
}

// createdAnew holds each request of each call back that writes, has the tree wiped and made anew,
// with a holder of the same worker ID whose record has the same version, and lets the request go.
func createdAnew(k *kit) {
	k.ids = coord.WorkerRange{First: 1, Count: 7} // one is added, by one request at a time
	granted := coord.Progress{Ceiling: 700, Issued: 300}
	for _, name := range []string{"Extend", "Release", "Claim", "Raise", "Widen", "NewUUID"} {
		for request, over := 0, false; !over; request++ {
			n, c := k.holder("a", 1, granted)
			o := k.operator()
			by, calls := n.Coordinator, callsOf(n, c)
			if !slices.ContainsFunc(calls, func(c call) bool { return c.name == name }) {
				by, calls = o, operatorCalls(o, c.Name())
			}
			h := k.holdBack(by, request, named(calls, name))
			if over = h == nil; !over {
				k.wipe()
				other, _ := k.holder("a", 1, granted)
				before := k.state()
				h.giveUp(k)
				h.release()
				if after := k.state(); !reflect.DeepEqual(after, before) {
					k.Errorf("%s, request %d came late and passed: from\n%+v to\n%+v", name, request, before, after)
				}
				Close(k, other)
			}
			Close(k, o)
			Close(k, n)
			k.wipe()
		}
	}
}
