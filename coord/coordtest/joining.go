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
	k.workers = 64
	k.make()
	nodes, workers, errs := make([]*node, k.workers), make([]int, k.workers), make([]error, k.workers)
	for i := range nodes {
		nodes[i] = k.stranger(fmt.Sprintf("host%d", i), "")
	}
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() {
			if errs[i] = n.join(); errs[i] != nil {
				return
			}
			c, err := n.Claim(k.Context(), anyone())
			if errs[i] = err; err == nil {
				workers[i] = c.Worker()
			}
		})
	}
	wg.Wait()
	must.Do(k, errs...)
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
	n := k.stranger("a", "")
	for range 2 {
		k.wants("Join", n.join(), coord.ErrNoCluster)
		_, err := n.Claim(k.Context(), anyone())
		k.wants("Claim", err, coord.ErrNotJoined)
		_, err = k.visitor().Inspect(k.Context())
		k.wants("Inspect", err, coord.ErrNoCluster)
	}
	k.make() // and then it joins
	must.Do(k, n.join())
	if other := k.start("b").uuid; n.uuid != other {
		k.Errorf("joined cluster %s, and another %s", n.uuid, other)
	}
}

func otherLayout(k *kit) {
	first, c := k.start("a"), k.stranger("b", "")
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
	_, err = c.Claim(k.Context(), anyone())
	k.wants("Claim after a Join that was refused", err, coord.ErrNotJoined)
	_, err = c.Members(k.Context())
	k.wants("Members after a Join that was refused", err, coord.ErrNotJoined)
	if _, err := c.Join(k.Context(), coord.Layout{Text: text}); err == nil {
		k.Error("Join with no worker IDs at all succeeded")
	}
	if got := k.start("c").uuid; got != first.uuid {
		k.Errorf("a refused Join changed the cluster: UUID %s, then %s", first.uuid, got)
	}
}

func closed(k *kit) {
	var n *node
	_, c := CloseInTime(k, func() (coord.Coordinator, coord.Claim) {
		n = k.start("a")
		c := n.claim(fresh())
		k.extend(c, coord.Progress{Ceiling: 100})
		return n, c
	})
	for _, name := range []string{"Claim", "Members", "Join"} {
		k.wants(name+" after Close", named(callsOf(n, c), name).run(k.Context()), coord.ErrClosed)
	}
	k.begins(c.Worker(), 100) // freed at once, and nothing lowered
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
		k.wants(call.name+" with a context that has ended", call.run(ended()), context.Canceled)
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
	calls := append(callsOf(n, c), callsOf(k.stranger("b", ""), c)[0])
	k.Halt(k)
	for _, call := range calls {
		ctx, cancel := context.WithTimeout(k.Context(), 200*time.Millisecond)
		err := call.run(ctx) // a call that ignores ctx hangs the test here
		cancel()
		if err == nil || errors.Is(err, coord.ErrLost) {
			k.Errorf("%s without a server: %v; want an error that leaves the outcome open", call.name, err)
		}
	}
}
