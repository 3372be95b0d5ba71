package coordtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/flakeward/flakeward/coord"
)

var failing = []testCase{
	{"in doubt: any one request of a claim's life", anyRequest},
	{"in doubt: any one request of a claim on what another claim had", anyRequestAgain},
	{"in doubt: any one request of a first boot", anyRequestJoin},
	{"orphans are reaped", orphansReaped},
	{"orphans of two claimants do not bar both", orphansOfTwo},
}

// retried calls until there is no error or the claim is lost. One fault takes one
// more call at most.
func (k *kit) retried(what string, call func() error) {
	k.Helper()
	var err error
	for range 3 {
		if err = call(); err == nil {
			return
		}
		if errors.Is(err, coord.ErrLost) {
			k.Fatalf("%s: %v, though nobody else was there", what, err)
		}
	}
	k.Fatalf("%s: still fails: %v", what, err)
}

func (k *kit) claimed(what string, n *node, r coord.Request) coord.Claim {
	k.Helper()
	var c coord.Claim
	k.retried(what+": Claim", func() (err error) {
		c, err = n.Claim(k.Context(), r)
		return err
	})
	return c
}

// acknowledged extends and checks that what was acknowledged is stored.
func (k *kit) acknowledged(what string, observer *node, c coord.Claim, p coord.Progress) {
	k.Helper()
	k.retried(what+": Extend", func() error { return c.Extend(k.Context(), p) })
	m, ok := observer.member(c.Worker())
	if !ok || m.Claim != c.Name() || m.Opening != c.Opening() || m.Ceiling != p.Ceiling || m.Time != p.Time {
		k.Fatalf("%s: Extend(%+v) of %s was acknowledged, stored is %+v", what, p, c.Name(), m)
	}
}

// alone extends until the claim is the only one of its incarnation.
func (k *kit) alone(what string, observer, n *node, c coord.Claim, p coord.Progress) {
	k.Helper()
	var own []coord.Member
	for range 10 {
		own = slices.DeleteFunc(observer.members(), func(m coord.Member) bool { return m.Incarnation != n.identity.Incarnation })
		if len(own) == 1 {
			break
		}
		k.acknowledged(what, observer, c, p)
	}
	if len(own) != 1 || own[0].Claim != c.Name() {
		k.Fatalf("%s: holds %s, and these claims remain: %+v", what, c.Name(), own)
	}
}

func anyRequest(k *kit) {
	observer := k.start("observer")
	k.eachFault(func(what string, arm func(coord.Coordinator) func() bool) bool {
		n := k.start("a")
		happened := arm(n.Coordinator)
		c := k.claimed(what, n, anyone())
		p := coord.Progress{Ceiling: c.Floor() + 100, Issued: 1}
		k.acknowledged(what, observer, c, p)
		k.alone(what, observer, n, c, p)
		p.Ceiling += 100
		k.acknowledged(what, observer, c, p)
		last := p.Ceiling - 50
		k.retried(what+": Release", func() error { return c.Release(k.Context(), Closed(last)) })
		k.begins(c.Worker(), last)
		k.retried(what+": Close", n.Close)
		return happened()
	})
}

func anyRequestAgain(k *kit) {
	observer := k.start("observer")
	k.eachFault(func(what string, arm func(coord.Coordinator) func() bool) bool {
		n := k.start("a")
		c := n.hold(5)
		p := coord.Progress{Ceiling: c.Floor() + 100, Issued: c.Floor() + 1}
		k.extend(c, p)
		k.revoke(n)
		happened := arm(n.Coordinator)
		back := k.claimed(what, n, wanting(5))
		if back.Worker() != 5 || back.Floor() != p.Ceiling {
			k.Fatalf("%s: worker ID %d, floor %d; want 5, %d", what, back.Worker(), back.Floor(), p.Ceiling)
		}
		p.Ceiling += 100
		p.Issued = p.Ceiling - 50
		k.acknowledged(what, observer, back, p)
		k.alone(what, observer, n, back, p)
		k.retried(what+": Release", func() error { return back.Release(k.Context(), Closed(p.Issued)) })
		k.retried(what+": Close", n.Close)
		return happened()
	})
}

func anyRequestJoin(k *kit) {
	k.make()
	for _, landed := range []bool{false, true} {
		n := k.stranger("a", "")
		happened := k.wires[n.Coordinator].Faults.Arm(0, landed)
		k.retried("Join", n.join)
		if !happened() {
			k.Fatal("no request failed; the case is void")
		}
		if got := k.start("b").uuid; got != n.uuid {
			k.Errorf("landed %v: one joined cluster %s, the other %s", landed, n.uuid, got)
		}
	}
}

// orphaned claims until the reply to a claim's making is lost.
func (k *kit) orphaned(observer, n *node, r coord.Request) {
	k.Helper()
	const rounds = 10 // claims search at random, so not each takes as many requests
	before, round := len(observer.members()), 0
	for i := 0; len(observer.members()) == before; i++ {
		happened := k.wires[n.Coordinator].Faults.Arm(i, true)
		c, err := n.Claim(k.Context(), r)
		if err == nil {
			k.release(c, 10)
		}
		if happened() {
			continue
		}
		if round++; round == rounds {
			k.Fatal("no lost reply left an orphan; the case is void")
		}
		i = -1
	}
}

func orphansReaped(k *kit) {
	// As many worker IDs as claims: an orphan bars the second one for good.
	k.workers = 2
	observer, n := k.start("observer"), k.start("a")
	k.orphaned(observer, n, fresh())
	c := n.claim(fresh())
	k.alone("after an orphan", observer, n, c, coord.Progress{Ceiling: 100})
	if got := observer.claim(fresh()); got.Worker() == c.Worker() {
		k.Errorf("both got worker ID %d", c.Worker())
	}
}

// claimTimeout is how long one claim may take that has nothing to wait for.
const claimTimeout = 20 * time.Second

// orphansOfTwo leaves an orphan on the only free worker ID and lets another claimant
// lose each reply there: it may leave a second one, behind the first. Then whoever
// finds the other's before it deletes its own all the same.
func orphansOfTwo(k *kit) {
	k.workers = 2
	holder := k.start("holder")
	last := 1 - holder.claim(fresh()).Worker()
	for i := 0; ; i++ {
		what := fmt.Sprintf("request %d", i)
		a, b := k.start("a"), k.start("b")
		k.orphaned(holder, a, wanting(last))
		happened := k.wires[b.Coordinator].Faults.Arm(i, true)
		if c, err := b.Claim(k.Context(), wanting(last)); err == nil {
			k.Fatalf("%s: worker ID %d was claimed behind another's claim", what, c.Worker())
		}
		if !happened() {
			if i < 2 {
				k.Fatalf("%s: never happened; the case is void", what)
			}
			break
		}
		var won []int
		for range 2 {
			for _, n := range []*node{a, b} {
				ctx, cancel := context.WithTimeout(k.Context(), claimTimeout)
				c, err := n.Claim(ctx, anyone())
				cancel()
				var full *coord.ExhaustedError
				switch {
				case err == nil:
					won = append(won, c.Worker())
				case !errors.As(err, &full):
					k.Fatalf("%s: Claim: %v, want a worker ID or an ExhaustedError", what, err)
				}
			}
		}
		if !slices.Equal(won, []int{last}) {
			k.Fatalf("%s: worker IDs %v were had, want only %d, and once", what, won, last)
		}
		for _, n := range []*node{a, b} {
			if !Close(k, n) {
				k.gone(holder, last)
			}
		}
	}
}
