package coordtest

import (
	"errors"
	"fmt"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

var raising = []testCase{
	{"raised: a holder has lost its claim and comes back above", raisedHolder},
	{"raised: a record that nobody holds, and a worker ID without one", raisedFree},
	{"raised: a release goes no lower", raisedRelease},
	{"raised: never lowers, and each time is a new cluster epoch", raisedTwice},
	{"raised: a write that was on its way is void", raisedUnderWrites},
	{"raised: everybody is told what to", raisedTold},
	{"raised: never", neverRaised},
	{"raised: a lost reply leaves all of it done or none", raisedInDoubt},
}

func (k *kit) raise(o coord.Operator, to generator.Tick) coord.Raised {
	k.Helper()
	return must.Get(o.Raise(k.Context(), to))(k)
}

func raisedHolder(k *kit) {
	n, o := k.start("a"), k.operator()
	extended, released := n.claim(wanting(1)), n.claim(wanting(2))
	for _, c := range []coord.Claim{extended, released} {
		k.extend(c, coord.Progress{Ceiling: 1000, Issued: 300})
	}
	if r := k.raise(o, 5000); r != (coord.Raised{To: 5000, Highest: 1000}) {
		k.Errorf("Raise: %+v, want from 0 to 5000 over 1000", r)
	}
	for range 2 {
		k.wants("Extend after the raise", extended.Extend(k.Context(), coord.Progress{Ceiling: 9000}), coord.ErrLost)
		k.wants("Release after the raise", released.Release(k.Context(), Closed(300)), coord.ErrLost)
	}
	for _, c := range []coord.Claim{extended, released} {
		back := n.above(c.Worker(), 5000)
		k.extend(back, coord.Progress{Ceiling: 6000, Issued: 5100})
		if m, _ := n.member(c.Worker()); m.Ceiling != 6000 || m.Opening != back.Opening() {
			k.Errorf("the next cluster epoch's holder stored %+v", m)
		}
	}
}

func raisedFree(k *kit) {
	k.ceilings(300, 9000, 0, 700)
	o := k.operator()
	if r := k.raise(o, 5000); r.Highest != 9000 {
		k.Errorf("Raise: %+v, want 9000 as the highest", r)
	}
	for worker, want := range []generator.Tick{5000, 9000, 5000, 5000} {
		if m, ok := k.mark(o, worker); !ok || m.Ceiling != want {
			k.Errorf("Marks show %+v, want the ceiling %d", m, want)
		}
		k.begins(worker, want)
	}
	k.workers = 8
}

func raisedRelease(k *kit) {
	o := k.raiseWhenJoined(200)
	n := k.start("a")
	// What a record says itself is what the next raise finds as the highest.
	stored := func(what string) {
		k.Helper()
		if r := k.raise(o, 0); r.Highest != 200 || r.To != 200 {
			k.Errorf("%s: Raise(0): %+v, want 200 stored in the record", what, r)
		}
		k.revoke(n)
	}
	n.claim(wanting(3))
	stored("opened")
	c := n.claim(wanting(3))
	k.extend(c, coord.Progress{Ceiling: 1000})
	k.release(c, 10)
	k.begins(3, 200)
	stored("released")
}

// raiseWhenJoined makes the cluster and raises its marks.
func (k *kit) raiseWhenJoined(to generator.Tick) client {
	k.Helper()
	k.start("first")
	o := k.operator()
	k.raise(o, to)
	return o
}

func raisedTwice(k *kit) {
	o := k.raiseWhenJoined(300)
	epochs := map[string]bool{"": true}
	for i, to := range []generator.Tick{100, 0, 300, 400} {
		v := k.inspected()
		if epochs[v.ClusterEpoch] || v.Floor != 300 {
			k.Errorf("raise %d: Inspect: %+v; want the floor 300 and a new cluster epoch", i, v)
		}
		epochs[v.ClusterEpoch] = true
		if r := k.raise(o, to); r.From != 300 || r.To != max(300, to) {
			k.Errorf("Raise(%d): %+v", to, r)
		}
	}
	if _, err := o.Raise(k.Context(), -1); err == nil {
		k.Error("marks were raised to a negative tick")
	}
	k.begins(0, 400)
}

// An opening, a publish and a release that reach the servers after the raise change nothing there.
func raisedUnderWrites(k *kit) {
	k.start("first")
	o := k.operator()
	const worker = 3
	for i, name := range []string{"Claim", "Extend", "Release"} {
		for request := 0; ; request++ {
			to := generator.Tick(1000*(i+1) + request)
			a := k.start("")
			c := a.hold(worker)
			k.extend(c, coord.Progress{Ceiling: c.Floor() + 10})
			if name == "Claim" {
				k.revoke(a)
			}
			before, _ := k.mark(o, worker)
			h := k.holdBack(a.Coordinator, request, named(callsOf(a, c), name))
			if h == nil {
				k.revoke(a)
				break
			}
			h.giveUp(k)
			k.raise(o, to)
			h.release()
			after, _ := k.mark(o, worker)
			if after.Holder != before.Holder || after.Ceiling != max(before.Ceiling, to) {
				k.Errorf("%s, request %d: the record was %+v and is %+v, raised to %d", name, request, before, after, to)
			}
			k.over(fmt.Sprintf("a claim of before the raise, %s, request %d", name, request), c)
			k.revoke(a)
		}
	}
}

func raisedInDoubt(k *kit) {
	k.inDoubt(func(o client, before coord.Inspected) error {
		_, err := o.Raise(k.Context(), before.Floor+10)
		return err
	}, func(what string, before, after coord.Inspected, failure error) {
		if raised := after.Floor != before.Floor; raised != (after.ClusterEpoch != before.ClusterEpoch) || !raised && failure == nil {
			k.Errorf("%s: from %+v to %+v, and the answer was %v", what, before, after, failure)
		}
	}, func(_ string, o client, after coord.Inspected) { // made again, it is done
		k.raise(o, after.Floor+10)
	})
}

// inDoubt has each request fail that an operator's command makes, before it lands and after, and
// has each outcome judged. Where one failed, again is called.
func (k *kit) inDoubt(command func(o client, before coord.Inspected) error, judge func(what string, before, after coord.Inspected, failure error), again func(what string, o client, after coord.Inspected)) {
	k.start("first")
	k.eachFault(func(what string, arm func(coord.Coordinator) func() bool) bool {
		o, before := k.operator(), k.inspected()
		happened := arm(o)
		failure := command(o, before)
		after := k.inspected()
		judge(what, before, after, failure)
		if !happened() {
			must.Do(k, failure)
			return false
		}
		again(what, o, after)
		Close(k, o) // with what it may have left behind
		return true
	})
}

// Who learns of a raise knows what to, whichever call it meets it with.
func raisedTold(k *kit) {
	n, o := k.start("a"), k.operator()
	extended, released := n.claim(wanting(1)), n.claim(wanting(2))
	k.raise(o, 700)
	k.raise(o, 5000)
	if got := n.Known().Raise; got != (coord.Raise{}) {
		k.Errorf("knows of %+v, and has not asked", got)
	}
	want := coord.Raise{Floor: 5000, ClusterEpoch: k.inspected().ClusterEpoch}
	for range 2 { // it stays so
		for name, err := range map[string]error{
			"Extend":  extended.Extend(k.Context(), coord.Progress{Ceiling: 9000}),
			"Release": released.Release(k.Context(), Closed(300)),
		} {
			if !errors.Is(err, coord.ErrRaised) || n.Known().Raise != want {
				k.Errorf("%s after the raise: %v, want ErrRaised; it knows of %+v, want %+v", name, err, n.Known().Raise, want)
			}
		}
	}
	k.raise(o, 6000)
	want = coord.Raise{Floor: 6000, ClusterEpoch: k.inspected().ClusterEpoch}
	if found, err := n.Look(k.Context()); err != nil || found.Raise != want || n.Known().Raise != want {
		k.Errorf("Look: %+v, %v; want %+v", found, err, want)
	}
	if again, err := n.Join(k.Context(), coord.Layout{Text: text, Workers: k.workers}); err != nil || again.Raise != want {
		k.Errorf("Join: %+v, %v; want %+v", again, err, want)
	}
	// One whose claim was lost before meets it when it claims again.
	late := k.start("b")
	old := late.claim(wanting(3))
	k.revoke(late)
	k.raise(o, 7000)
	refused := errors.New("not now")
	r := wanting(old.Worker())
	r.Before = func(int) error { return refused }
	claims := len(n.members())
	_, err := late.Claim(k.Context(), r)
	k.wants("Claim", err, refused)
	if len(n.members()) != claims {
		k.Error("a claim was made though Before refused it")
	}
	r.Before = nil
	c := late.claim(r)
	if known := late.Known().Raise; known.Floor != 7000 || known.ClusterEpoch != coord.ClusterEpochOf(c.Opening()) || known.ClusterEpoch == coord.ClusterEpochOf(old.Opening()) {
		k.Errorf("knows of %+v; want 7000, and the cluster epoch of the opening %s, which %s has not", known, c.Opening(), old.Opening())
	}
}

// Nothing was raised: all is of one cluster epoch, and a look says no more than that.
func neverRaised(k *kit) {
	n := k.start("a")
	if c := n.claim(wanting(1)); coord.ClusterEpochOf(c.Opening()) != "" {
		k.Errorf("the opening %s is of a cluster epoch", c.Opening())
	}
	if found, err := n.Look(k.Context()); err != nil || found.UUID != n.uuid || found.Raise != (coord.Raise{}) {
		k.Errorf("Look: %+v, %v", found, err)
	}
}
