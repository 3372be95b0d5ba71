package coordtest

import (
	"fmt"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

var remembering = []testCase{
	{"history: names who held each tick, over seven openings", remembersHolders},
	{"history: is bounded, and the oldest go first", remembersBounded},
	{"history: an opening that issued nothing takes no room", remembersNoCrashes},
	{"history: has the holder of the record, whichever request fails", remembersInDoubt},
	{"history: what was lost with a backup is not known", remembersLoss},
	{"history: of a worker ID that nobody had is empty", remembersNobody},
}

func (k *kit) history(o coord.Operator, worker int) []coord.HolderInterval {
	k.Helper()
	ts := must.Get(o.History(k.Context(), worker))(k)
	for i := range ts {
		if i > 0 && ts[i].From <= ts[i-1].From {
			k.Fatalf("History(%d) does not rise: %+v", worker, ts)
		}
	}
	return ts
}

// holder returns who may have issued the tick.
func holder(ts []coord.HolderInterval, tick generator.Tick) coord.HolderInterval {
	for i := len(ts) - 1; i >= 0; i-- {
		if tick > ts[i].From {
			return ts[i]
		}
	}
	return coord.HolderInterval{}
}

// issue is ticks that one claim issued, from one above a tick up to another.
type issue struct {
	above, last generator.Tick
	by          *node
	claim       coord.Claim
}

// check compares the history with who issued what.
func (k *kit) check(o coord.Operator, worker int, issues []issue) {
	k.Helper()
	ts := k.history(o, worker)
	for _, i := range issues {
		for tick := i.above + 1; tick <= i.last; tick++ {
			got, who := holder(ts, tick), i.by.identity
			if got.Host != who.Host || got.Incarnation != who.Incarnation || got.Version != who.Version ||
				got.Claim != i.claim.Name() || got.Opening != i.claim.Opening() || got.Since.IsZero() {
				k.Fatalf("tick %d was issued by %s (%s, claim %s, opening %s), the history says %+v;\nall of it: %+v",
					tick, who.Host, who.Incarnation, i.claim.Name(), i.claim.Opening(), got, ts)
			}
		}
	}
}

func remembersHolders(k *kit) {
	const worker = 6
	a, o := k.start("a"), k.operator()
	var issues []issue
	issued := func(n *node, above generator.Tick) coord.Claim {
		k.Helper()
		c, last := n.hold(worker), above-above%100+100
		k.extend(c, coord.Progress{Ceiling: last + 20, Issued: last})
		issues = append(issues, issue{above, last, n, c})
		k.check(o, worker, issues)
		return c
	}
	issued(a, 0)
	k.revoke(a)
	issued(a, 120) // the same process, over a lost claim
	k.revoke(a)
	again := k.start("a")
	k.release(issued(again, 220), 300) // the next start
	b := k.start("b")
	issued(b, 300) // another host, above what was released
	k.revoke(b)
	k.floorOf(worker) // one that never issues
	issued(again, 420)
	k.revoke(again)
	last := issued(k.start(""), 520) // a host without a name has a history too
	// A tick that nobody had yet is the last one's to issue.
	if got := holder(k.history(o, worker), 9000); got.Claim != last.Name() {
		k.Errorf("the last holder is %+v", got)
	}
}

func remembersBounded(k *kit) {
	n, o := k.start("a"), k.operator()
	var issues []issue
	kept := 0
	for i := range 60 {
		c := n.claim(wanting(6))
		last := c.Floor() + 5
		k.extend(c, coord.Progress{Ceiling: last})
		issues = append(issues, issue{c.Floor(), last, n, c})
		k.revoke(n)
		if i < 40 {
			continue // by then no more than before are kept
		}
		ts := k.history(o, 6)
		if kept == 0 {
			kept = len(ts)
		}
		if len(ts) != kept || kept < 2 || kept > 32 {
			k.Fatalf("%d entries after %d openings, %d before", len(ts), i+1, kept)
		}
		k.check(o, 6, issues[len(issues)-kept:])
		if got := holder(ts, issues[0].last); got != (coord.HolderInterval{}) {
			k.Fatalf("the first holder is long forgotten, and the history says %+v", got)
		}
	}
}

func remembersNoCrashes(k *kit) {
	n, c := k.holder("a", 6, coord.Progress{Ceiling: 100, Issued: 40})
	o := k.operator()
	issues := []issue{{0, 100, n, c}}
	for range 40 { // each crashes before it is granted anything
		k.revoke(n)
		n = k.start("a")
		c = n.claim(wanting(6))
	}
	k.extend(c, coord.Progress{Ceiling: 200})
	k.check(o, 6, append(issues, issue{100, 200, n, c}))
}

func remembersInDoubt(k *kit) {
	k.start("first")
	o := k.operator()
	agree := func(what string) {
		k.Helper()
		for worker := range k.workers {
			m, ok := k.mark(o, worker)
			ts := k.history(o, worker)
			if ok != (len(ts) > 0) || ok && (ts[len(ts)-1].Opening != m.Holder) {
				k.Fatalf("%s: the record is %+v (%v), and its history %+v", what, m, ok, ts)
			}
		}
	}
	k.eachFault(func(what string, arm func(coord.Coordinator) func() bool) bool {
		n := k.start("a")
		first := n.hold(5)
		p := coord.Progress{Ceiling: first.Floor() + 10}
		k.extend(first, p)
		k.revoke(n)
		happened := arm(n.Coordinator)
		c, err := n.Claim(k.Context(), wanting(first.Worker()))
		agree(fmt.Sprintf("%s: after %v", what, err))
		if err != nil {
			c = k.claimed(what, n, wanting(first.Worker()))
			agree(what + ": claimed again")
		}
		k.retried(what+": Release", func() error { return c.Release(k.Context(), Closed(p.Ceiling)) })
		agree(what + ": released")
		k.retried(what+": Close", n.Close)
		return happened()
	})
}

func remembersLoss(k *kit) {
	n, c := k.holder("a", 6, coord.Progress{Ceiling: 60, Issued: 45})
	k.revoke(n)
	// Whoever issued above 60 was forgotten with the restore.
	o := k.operator()
	k.raise(o, 200)
	lost := func() {
		k.Helper()
		k.check(o, 6, []issue{{0, 60, n, c}})
		ts := k.history(o, 6)
		for _, tick := range []generator.Tick{61, 200} {
			if got := holder(ts, tick); got != (coord.HolderInterval{From: 60}) {
				k.Errorf("who issued tick %d was forgotten, and the history says %+v", tick, got)
			}
		}
	}
	lost() // nobody has opened it yet
	other, next := k.holder("b", 6, coord.Progress{Ceiling: 300})
	lost()
	k.check(o, 6, []issue{{200, 300, other, next}})
	// One whose ceiling was above all that was raised has lost nothing.
	k.revoke(other)
	k.raise(o, 250)
	third := n.claim(wanting(6))
	k.extend(third, coord.Progress{Ceiling: 400})
	k.check(o, 6, []issue{{200, 300, other, next}, {300, 400, n, third}})
}

func remembersNobody(k *kit) {
	k.start("a")
	o := k.operator()
	if ts := k.history(o, 3); len(ts) != 0 {
		k.Errorf("History: %+v", ts)
	}
	for _, worker := range []int{-1, coord.MaxWorkers} {
		if _, err := o.History(k.Context(), worker); err == nil {
			k.Errorf("worker ID %d has a history", worker)
		}
	}
}
