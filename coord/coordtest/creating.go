package coordtest

import (
	"context"
	"errors"
	"reflect"
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
	o, want := k.Operator(k), k.cluster()
	want.Window, want.Floor, want.Range = 600, 5000, upper
	first := must.Get(o.Create(k.Context(), want))(k)
	if got, uuid := first, first.UUID; !got.Made || uuid == "" || got.Inspected != (coord.Inspected{Layout: text, UUID: uuid, Floor: 5000, Window: 600, Longest: 600, Range: upper}) {
		k.Errorf("created %+v of %+v", got, want)
	}
	if v, err := k.Operator(k).Inspect(k.Context()); err != nil || v != first.Inspected {
		k.Errorf("Inspect: %+v, %v; want %+v", v, err, first.Inspected)
	}
	first.Made = false
	for _, o := range []coord.Operator{o, k.operator()} {
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
	c := n.claim(wanting(upper.First))
	if c.Floor() != 5000 {
		k.Errorf("worker ID %d above %d, want 5000", c.Worker(), c.Floor())
	}
	k.extend(c, coord.Progress{Ceiling: 6000})
	k.release(c, 0)
	if got := k.floorOf(upper.First); got != 5000 {
		k.Errorf("after a release floor %d, want 5000", got)
	}
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
	operators, found, errs := make([]coord.Operator, all), make([]coord.Created, all), make([]error, all)
	for i := range operators {
		operators[i] = k.Operator(k)
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
	o := k.Operator(k)
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
	if k.Fault == nil || k.Wipe == nil {
		return
	}
	for _, landed := range []bool{false, true} {
		for n := 0; ; n++ {
			o := k.Operator(k)
			happened := k.Fault(k, o.(coord.Coordinator), n, landed)
			want := k.cluster()
			want.Floor = 100
			first, failure := o.Create(k.Context(), want)
			over := !happened()
			if over && (n == 0 || failure != nil) {
				k.Fatalf("request %d, landed %v: %v; the case is void", n, landed, failure)
			}
			if over {
				o = k.Operator(k) // whose requests all pass
			}
			want.Floor = 200
			again := must.Get(o.Create(k.Context(), want))(k)
			switch {
			case failure == nil && (again.Made || again.Inspected != first.Inspected):
				k.Errorf("request %d, landed %v: created %+v, and again %+v", n, landed, first, again)
			case again.Made != (again.Floor == 200):
				k.Errorf("request %d, landed %v: created again, %+v", n, landed, again)
			}
			if v, err := k.Operator(k).Inspect(k.Context()); err != nil || v != again.Inspected {
				k.Errorf("request %d, landed %v: Inspect: %+v, %v; want %+v", n, landed, v, err, again.Inspected)
			}
			k.Wipe(k)
			if over {
				break
			}
		}
	}
}

// state is all that operators see of a tree.
type state struct {
	inspected coord.Inspected
	marks     []coord.Mark
	members   []coord.Member
}

func (k *kit) state() state {
	k.Helper()
	o := k.Operator(k)
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

// createdAnew holds each request of each call back that writes, has the tree wiped and made anew, with
// a holder of the same worker ID whose record has the same version, and lets the request go.
func createdAnew(k *kit) {
	if k.Wipe == nil || k.Delay == nil {
		return
	}
	hold := func() (*node, coord.Claim) {
		n := k.start("a")
		c := n.claim(wanting(1))
		k.extend(c, coord.Progress{Ceiling: 700, Issued: 300})
		return n, c
	}
	calls := map[string]func(ctx context.Context, n *node, c coord.Claim, o coord.Operator) error{
		"Extend": func(ctx context.Context, _ *node, c coord.Claim, _ coord.Operator) error {
			return c.Extend(ctx, coord.Progress{Ceiling: 900, Issued: 800})
		},
		"Release": func(ctx context.Context, _ *node, c coord.Claim, _ coord.Operator) error { return c.Release(ctx, 300) },
		"Claim": func(ctx context.Context, n *node, _ coord.Claim, _ coord.Operator) error {
			_, err := n.Claim(ctx, wanting(1))
			return err
		},
		"Raise": func(ctx context.Context, _ *node, _ coord.Claim, o coord.Operator) error {
			_, err := o.Raise(ctx, 9000)
			return err
		},
		"Widen": func(ctx context.Context, _ *node, _ coord.Claim, o coord.Operator) error {
			return o.Widen(ctx, coord.WorkerRange{}, 9000)
		},
		"NewUUID": func(ctx context.Context, _ *node, _ coord.Claim, o coord.Operator) error {
			_, err := o.NewUUID(ctx)
			return err
		},
	}
	k.ids = coord.WorkerRange{First: 1, Count: 7} // one is added, by one request at a time
	for name, call := range calls {
		for request := 0; ; request++ {
			n, c := hold()
			o := k.operator()
			by := n.Coordinator
			if name == "Raise" || name == "Widen" || name == "NewUUID" {
				by = o.(coord.Coordinator)
			}
			ctx, cancel := context.WithCancel(k.Context())
			held, release := k.Delay(k, by, request)
			done := make(chan error, 1)
			go func() { done <- call(ctx, n, c, o) }()
			over := false
			select {
			case err := <-done:
				if over = true; err != nil || request == 0 {
					k.Fatalf("%s, request %d: %v; the case is void", name, request, err)
				}
			case <-held:
				k.Wipe(k)
				other, _ := hold()
				before := k.state()
				cancel()
				<-done
				release()
				if after := k.state(); !reflect.DeepEqual(after, before) {
					k.Errorf("%s, request %d came late and passed: from\n%+v to\n%+v", name, request, before, after)
				}
				Close(k, other)
			}
			cancel()
			Close(k, o)
			Close(k, n)
			k.Wipe(k)
			if over {
				break
			}
		}
	}
}
