package coordtest

import (
	"errors"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

var recording = []testCase{
	{"opening: has a fresh ID each time", openingIDs},
	{"opening: the claim is there before it", openingAfterClaim},
	{"opening: not of a record that another has opened meanwhile", racedOpening},
	{"the holder who came back", holderWhoCameBack},
	{"extend: raises and never lowers", extendRaises},
	{"extend: after the session ended, the claim is made again", extendAfterSession},
	{"extend: after another's claim, lost for good", extendAfterClaim},
	{"extend, release: after another's opening, lost for good", lostByOpening},
	{"release: lowers to the last tick and frees at once", releaseLowers},
	{"release: never below the floor of its own grants", releaseFloor},
	{"release: after the session ended, lowers too", releaseAfterSession},
}

func openingIDs(k *kit) {
	seen := map[string]bool{"": true}
	names := map[string]bool{"": true}
	n := k.start("a")
	for range 4 {
		c := n.hold(1)
		if seen[c.Opening()] || names[c.Name()] {
			k.Fatalf("opening %q of claim %q is not new", c.Opening(), c.Name())
		}
		seen[c.Opening()], names[c.Name()] = true, true
		k.release(c, 10)
	}
}

func openingAfterClaim(k *kit) {
	observer := k.start("observer")
	asked := 0
	n := k.start("a")
	n.claim(atOpening(wanting(2), func(worker int) {
		asked++
		if m, ok := observer.member(worker); worker != 2 || !ok || m.Opening != "" {
			k.Errorf("worker ID %d is to be opened, with %+v", worker, m)
		}
	}))
	if asked != 1 {
		k.Errorf("asked %d times, want once", asked)
	}
	// An opening that is refused is not sent, and its claim stays.
	refused := errors.New("not now")
	r := wanting(3)
	r.Before = func(worker int) error {
		if worker == coord.AnyWorker {
			return nil
		}
		return refused
	}
	_, err := n.Claim(k.Context(), r)
	k.wants("Claim", err, refused)
	if m, ok := observer.member(3); !ok || m.Opening != "" {
		k.Errorf("after a refused opening: %+v, want a claim that is not opened", m)
	}
}

// A record that another has opened meanwhile is not opened: the claim tries again, or elsewhere.
func racedOpening(k *kit) {
	n, _ := k.holder("a", 2, coord.Progress{Ceiling: 1000})
	other, o := k.start("b"), k.operator()
	k.revoke(n)
	var between coord.Claim
	got := n.claim(atOpening(wanting(2), func(worker int) {
		if between == nil {
			m, _ := n.member(worker)
			must.Do(k, o.Clear(k.Context(), m.Claim))
			between = other.claim(wanting(worker))
		}
	}))
	if got.Worker() == 2 || between.Worker() != 2 {
		k.Errorf("worker ID %d, and the other has %d; want another one, and 2", got.Worker(), between.Worker())
	}
	if m, _ := n.member(2); m.Opening != between.Opening() {
		k.Errorf("the record is %+v, want it opened by %s", m, between.Opening())
	}
	k.extend(between, coord.Progress{Ceiling: 2000})
	k.extend(got, coord.Progress{Ceiling: 2000})
}

func holderWhoCameBack(k *kit) {
	j, _ := k.holder("j", 0, coord.Progress{Ceiling: 2})
	k.revoke(j)
	other, _ := k.holder("k", 0, coord.Progress{Ceiling: 4, Issued: 3})
	k.revoke(other)
	j.above(0, 4) // the same process comes back, opens, and dies
	k.revoke(j)
	k.start("j").above(0, 4) // tick 3 was issued
}

func extendRaises(k *kit) {
	n := k.start("a")
	c := n.claim(anyone())
	for _, step := range []struct{ ceiling, want generator.Tick }{{500, 500}, {400, 500}, {501, 501}, {0, 501}, {501, 501}} {
		k.extend(c, coord.Progress{Ceiling: step.ceiling})
		if m, _ := n.member(c.Worker()); m.Ceiling != step.want {
			k.Errorf("Extend to %d left the ceiling at %d, want %d", step.ceiling, m.Ceiling, step.want)
		}
	}
	k.revoke(n)
	// The next holder's too: what it finds is not its to lower.
	k.holder("b", c.Worker(), coord.Progress{Ceiling: 10})
	if m, _ := n.member(c.Worker()); m.Ceiling != 501 {
		k.Errorf("the next holder lowered the ceiling to %d", m.Ceiling)
	}
}

func extendAfterSession(k *kit) {
	n, c := k.holder("a", 3, coord.Progress{Ceiling: 100})
	other := k.start("b")
	for range 3 {
		was, ceiling := c.Name(), coord.Progress{Ceiling: 100}
		if m, _ := other.member(3); m.Claim != was {
			k.Fatalf("before the session ended: %+v, want the claim %s", m, was)
		}
		k.revoke(n)
		ceiling.Ceiling += 100
		k.extend(c, ceiling)
		m, ok := other.member(3)
		if !ok || m.Claim != c.Name() || m.Claim == was || m.Opening != c.Opening() || m.Ceiling != ceiling.Ceiling || m.Incarnation != n.identity.Incarnation {
			k.Errorf("after the session ended and an Extend to %d by %s, before %s: %+v", ceiling.Ceiling, c.Name(), was, m)
		}
		if got := other.claim(wanting(3)); got.Worker() == 3 {
			k.Fatal("worker ID 3 was had by another")
		}
	}
	k.release(c, 150)
	if _, ok := other.member(3); ok {
		k.Error("released, and still claimed")
	}
}

// Another's claim that is there before is one that opens the record, or has seen that it cannot.
func extendAfterClaim(k *kit) {
	n, c := k.holder("a", 3, coord.Progress{Ceiling: 100})
	other := k.start("b")
	k.revoke(n)
	var theirs coord.Member
	got := other.claim(atOpening(wanting(3), func(int) {
		if theirs.Claim != "" {
			return
		}
		theirs, _ = n.member(3)
		for range 2 {
			k.wants("Extend after another's claim", c.Extend(k.Context(), coord.Progress{Ceiling: 200}), coord.ErrLost)
		}
		if ms := n.members(); len(ms) != 1 || ms[0].Claim != theirs.Claim || c.Name() != "" {
			k.Errorf("Members: %+v, want the other's claim alone", ms)
		}
	}))
	// The record was extended before it was opened, so the claim is tried again.
	if got.Worker() != 3 || got.Floor() != 200 || got.Name() == theirs.Claim {
		k.Errorf("worker ID %d above %d by %s, want 3 above 200 by another than %s", got.Worker(), got.Floor(), got.Name(), theirs.Claim)
	}
}

func lostByOpening(k *kit) {
	a, lost := k.holder("a", 3, coord.Progress{Ceiling: 100})
	k.revoke(a)
	b, now := k.holder("b", 3, coord.Progress{Ceiling: 200})
	k.over("a claim after another's opening", lost)
	if m, _ := b.member(3); m.Ceiling != 200 || m.Opening != now.Opening() || m.Claim != now.Name() {
		k.Errorf("the lost claim wrote: %+v", m)
	}
}

func releaseLowers(k *kit) {
	n := k.start("a")
	c := n.claim(anyone())
	k.extend(c, coord.Progress{Ceiling: 1000, Issued: 100})
	k.release(c, 300)
	k.over("a claim that was released", c)
	if ms := n.members(); len(ms) != 0 {
		k.Errorf("released, and still there: %+v", ms)
	}
	k.begins(c.Worker(), 300)

	open := n.claim(wanting(c.Worker()))
	k.extend(open, coord.Progress{Ceiling: 2000})
	if err := open.Release(k.Context(), generator.Last{}); err != nil {
		k.Errorf("Release where no lane was closed: %v", err)
	}
	k.begins(c.Worker(), 2000)
}

func releaseFloor(k *kit) {
	n, _ := k.holder("a", 1, coord.Progress{Ceiling: 1000})
	k.revoke(n)
	_, next := k.holder("b", 1, coord.Progress{Ceiling: 5000})
	k.release(next, 10) // it issued nothing; what is below 1000 is not its own
	k.begins(1, 1000)
}

func releaseAfterSession(k *kit) {
	n, c := k.holder("a", 1, coord.Progress{Ceiling: 1000, Issued: 500})
	k.revoke(n)
	k.release(c, 600)
	if ms := n.members(); len(ms) != 0 {
		k.Errorf("Members: %+v, want none", ms)
	}
	k.begins(1, 600)
}
