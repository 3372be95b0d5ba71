package coordtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/internal/must"
)

var joining = []testCase{
	{"join: racing first boots agree on one cluster", racingBoots},
	{"join: where no cluster is, nobody makes one", joinNothing},
	{"join: another layout is refused and both are named", otherLayout},
	{"close: every later call says so", closed},
	{"window: the cluster's, as an operator sets it", windows},
	{"trust: daemons learn what time a person says it is", trusting},
	{"members: live claims with their records, in order", members},
	{"context: every call ends with it", contexts},
	{"context: also when no server answers", halted},
}

func racingBoots(k *kit) {
	const boots = 64
	k.workers = boots
	nodes := make([]*node, boots)
	workers := make([]int, boots)
	errs := make([]error, boots)
	k.make()
	for i := range nodes {
		n := &node{k: k, identity: coord.Identity{Host: fmt.Sprintf("host%d", i), Incarnation: fmt.Sprintf("boot%d", i)}}
		n.Coordinator = k.Open(k, n.identity)
		nodes[i] = n
	}
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() {
			cluster, err := n.Join(k.Context(), coord.Layout{Text: text, Workers: boots})
			if err != nil {
				errs[i] = err
				return
			}
			n.uuid = cluster.UUID
			c, err := n.Claim(k.Context(), anyone())
			if err != nil {
				errs[i] = err
				return
			}
			workers[i] = c.Worker()
		})
	}
	wg.Wait()
	must.Do(k, errors.Join(errs...))
	for _, n := range nodes {
		if n.uuid == "" || n.uuid != nodes[0].uuid {
			k.Fatalf("two clusters: UUID %q and %q", nodes[0].uuid, n.uuid)
		}
	}
	// As many worker IDs as claimants: each must have got one of its own.
	slices.Sort(workers)
	for i, w := range workers {
		if w != i {
			k.Fatalf("worker IDs are not all different: %v", workers)
		}
	}
}

func joinNothing(k *kit) {
	if k.Makes {
		return
	}
	n := k.Open(k, coord.Identity{Host: "a", Incarnation: "a1"})
	for range 2 {
		if got, err := n.Join(k.Context(), coord.Layout{Text: text, Workers: k.workers, Window: 600}); !errors.Is(err, coord.ErrNoCluster) {
			k.Fatalf("Join: %+v, %v; want ErrNoCluster", got, err)
		}
		if _, err := n.Claim(k.Context(), anyone()); !errors.Is(err, coord.ErrNotJoined) {
			k.Errorf("Claim: %v, want ErrNotJoined", err)
		}
		if _, err := k.Operator(k).Inspect(k.Context()); !errors.Is(err, coord.ErrNoCluster) {
			k.Fatalf("Inspect: %v, want ErrNoCluster", err)
		}
	}
	k.make() // and then it joins
	if got, err := n.Join(k.Context(), coord.Layout{Text: text, Workers: k.workers}); err != nil || got.UUID != k.start("b").uuid {
		k.Errorf("Join: %+v, %v", got, err)
	}
}

func otherLayout(k *kit) {
	first := k.start("a")
	c := k.Open(k, coord.Identity{Host: "b", Incarnation: "b1"})
	other := strings.Replace(text, "worker=10", "worker=9", 1)
	_, err := c.Join(k.Context(), coord.Layout{Text: other, Workers: k.workers})
	var differ *coord.LayoutError
	if !errors.As(err, &differ) || differ.Ours != other || differ.Cluster != text {
		k.Fatalf("Join with another layout: %v; want a LayoutError with both", err)
	}
	for _, part := range []string{text, other} {
		if !strings.Contains(err.Error(), part) {
			k.Errorf("the error %q does not name %q", err, part)
		}
	}
	if _, err := c.Claim(k.Context(), anyone()); !errors.Is(err, coord.ErrNotJoined) {
		k.Errorf("Claim after a Join that was refused: %v, want ErrNotJoined", err)
	}
	if _, err := c.Members(k.Context()); !errors.Is(err, coord.ErrNotJoined) {
		k.Errorf("Members after a Join that was refused: %v, want ErrNotJoined", err)
	}
	if _, err := c.Join(k.Context(), coord.Layout{Text: text}); err == nil {
		k.Error("Join with no worker IDs at all succeeded")
	}
	if got := k.start("c").uuid; got != first.uuid {
		k.Errorf("a refused Join changed the cluster: UUID %s, then %s", first.uuid, got)
	}
}

func closed(k *kit) {
	n, c := CloseInTime(k, func() (coord.Coordinator, coord.Claim) {
		n := k.start("a")
		c := n.claim(fresh())
		k.extend(c, coord.Progress{Ceiling: 100})
		return n, c
	})
	if _, err := n.Claim(k.Context(), anyone()); !errors.Is(err, coord.ErrClosed) {
		k.Errorf("Claim after Close: %v, want ErrClosed", err)
	}
	if _, err := n.Members(k.Context()); !errors.Is(err, coord.ErrClosed) {
		k.Errorf("Members after Close: %v, want ErrClosed", err)
	}
	if _, err := n.Join(k.Context(), coord.Layout{Text: text, Workers: k.workers}); !errors.Is(err, coord.ErrClosed) {
		k.Errorf("Join after Close: %v, want ErrClosed", err)
	}
	// Freed at once, and nothing lowered.
	if got := k.floorOf(c.Worker()); got != 100 {
		k.Errorf("floor after Close is %d, want 100", got)
	}
}

func members(k *kit) {
	a, b := k.start("a"), k.start("b")
	ca, cb := a.claim(anyone()), b.claim(anyone())
	k.extend(ca, coord.Progress{Ceiling: 900, Issued: 30, Time: 35})
	want := []coord.Member{
		{Worker: ca.Worker(), Claim: ca.Name(), Opening: ca.Opening(), Ceiling: 900, Issued: 30, Time: 35},
		{Worker: cb.Worker(), Claim: cb.Name(), Opening: cb.Opening()},
	}
	for i, n := range []*node{a, b} {
		want[i].Host, want[i].PID = n.identity.Host, n.identity.PID
		want[i].Incarnation, want[i].Version, want[i].Boot = n.identity.Incarnation, n.identity.Version, n.identity.Boot
	}
	slices.SortFunc(want, func(x, y coord.Member) int { return x.Worker - y.Worker })
	got := a.members()
	for i := range got {
		// Shown to people; the back-end's clock is the machine's here.
		now := time.Unix(0, clockguard.System{}.Now().Wall)
		if age := now.Sub(got[i].Since); age < -time.Minute || age > time.Hour {
			k.Errorf("the claim %s is held since %v, %v ago", got[i].Claim, got[i].Since, age)
		}
		got[i].Since = time.Time{}
	}
	if !slices.Equal(got, want) {
		k.Errorf("Members:\n%+v, want\n%+v", got, want)
	}
	k.revoke(b)
	if got := a.members(); len(got) != 1 || got[0].Claim != ca.Name() {
		k.Errorf("Members after one session ended: %+v", got)
	}
	k.release(ca, 30)
	next := a.claim(coord.Request{Worker: ca.Worker(), Latest: 900})
	if got := a.members(); len(got) != 1 || got[0].Worker != ca.Worker() || got[0].Time != 0 || got[0].Issued != 0 {
		k.Errorf("Members show of %s, which has been granted nothing: %+v", next.Name(), got)
	}
}

func contexts(k *kit) {
	n := k.start("a")
	c := n.claim(anyone())
	k.extend(c, coord.Progress{Ceiling: 100})
	for _, call := range callsOf(n, c) {
		if err := call.run(ended()); !errors.Is(err, context.Canceled) {
			k.Errorf("%s with a context that has ended: %v", call.name, err)
		}
	}
	// None of that cost the claim, or raised or lowered anything.
	k.extend(c, coord.Progress{Ceiling: 50})
	if m, _ := n.member(c.Worker()); m.Ceiling != 100 || m.Claim != c.Name() {
		k.Errorf("calls whose context had ended left %+v", m)
	}
}

func halted(k *kit) {
	if k.Halt == nil {
		return
	}
	n := k.start("a")
	c := n.claim(anyone())
	late := k.Open(k, coord.Identity{Host: "b", Incarnation: "late"})
	k.Halt(k)
	calls := append(callsOf(n, c), callsOf(&node{Coordinator: late, k: k}, c)[0])
	for _, call := range calls {
		ctx, cancel := context.WithTimeout(k.Context(), 200*time.Millisecond)
		err := call.run(ctx) // a call that ignores ctx hangs the test here
		cancel()
		if err == nil || errors.Is(err, coord.ErrLost) {
			k.Errorf("%s without a server: %v; want an error that leaves the outcome open", call.name, err)
		}
	}
}

type call struct {
	name string
	run  func(context.Context) error
}

// callsOf is every call that takes a context.
func callsOf(n *node, c coord.Claim) []call {
	return []call{
		{"Join", func(ctx context.Context) error {
			_, err := n.Join(ctx, coord.Layout{Text: text, Workers: n.k.workers})
			return err
		}},
		{"Claim", func(ctx context.Context) error { _, err := n.Claim(ctx, anyone()); return err }},
		{"Claim fresh", func(ctx context.Context) error { _, err := n.Claim(ctx, fresh()); return err }},
		{"Members", func(ctx context.Context) error { _, err := n.Members(ctx); return err }},
		{"Look", func(ctx context.Context) error { _, err := n.Look(ctx); return err }},
		{"Extend", func(ctx context.Context) error { return c.Extend(ctx, coord.Progress{Ceiling: 9000}) }},
		{"Release", func(ctx context.Context) error { return c.Release(ctx, 10) }},
	}
}
