package coordtest

import (
	"errors"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

var recording = []testCase{
	{"opening: leaves the ceiling as it is", openingKeepsCeiling},
	{"opening: has a fresh ID each time", openingIDs},
	{"opening: continues only what came last from the record", continuesTable},
	{"opening: a pending claim says beforehand whether it continues", pendingContinues},
	{"opening: not of a record that another has opened meanwhile", racedOpening},
	{"the holder who came back", holderWhoCameBack},
	{"W1, W2, W1: only the newest opening of W1 is continued", backToTheFirst},
	{"extend: raises and never lowers", extendRaises},
	{"extend: after the session ended, the claim is made again", extendAfterSession},
	{"extend: after another's claim, lost for good", extendAfterClaim},
	{"extend: after another's opening, lost for good", extendAfterOpening},
	{"extend: by two of one process, each on its own worker ID", extendTwo},
	{"release: lowers to the last tick and frees at once", releaseLowers},
	{"release: never below the floor of its own grants", releaseFloor},
	{"release: what was continued is lowered too", releaseContinued},
	{"release: after the session ended, lowers too", releaseAfterSession},
	{"release: after another's opening, lowers nothing", releaseAfterOpening},
}

func openingKeepsCeiling(k *kit) {
	n := k.start("a")
	c := n.claim(anyone())
	if c.Floor() != 0 || c.Continues() {
		k.Errorf("first opening: floor %d, continues %v; want 0, false", c.Floor(), c.Continues())
	}
	k.extend(c, coord.Progress{Ceiling: 700, Issued: 20, Mark: 30})
	k.revoke(n)
	for range 3 { // none of them extends
		if got := k.floorOf(c.Worker()); got != 700 {
			k.Fatalf("floor %d, want 700", got)
		}
	}
}

func openingIDs(k *kit) {
	seen := map[string]bool{"": true}
	names := map[string]bool{"": true}
	n := k.start("a")
	for range 4 {
		c := n.claim(wanting(1))
		if seen[c.Opening()] || names[c.Name()] {
			k.Fatalf("opening %q of claim %q is not new", c.Opening(), c.Name())
		}
		seen[c.Opening()], names[c.Name()] = true, true
		k.release(c, 10)
	}
}

func continuesTable(k *kit) {
	for _, test := range []struct {
		name    string
		opening func(c coord.Claim) string
		mark    generator.Tick
		want    bool
	}{
		{"the journal as published", coord.Claim.Opening, 60, true},
		{"the journal, written since", coord.Claim.Opening, 61, true},
		{"an old copy of the journal", coord.Claim.Opening, 59, false},
		{"another's journal", func(coord.Claim) string { return "SOMEONEELSE" }, 60, false},
		{"no journal", func(coord.Claim) string { return "" }, 1 << 40, false},
	} {
		n := k.start("a")
		c := n.claim(wanting(6))
		k.extend(c, coord.Progress{Ceiling: c.Floor() + 1000, Mark: 60})
		k.revoke(n)
		r := wanting(6)
		r.Opening, r.Mark = test.opening(c), test.mark
		again := k.start("b")
		got := again.claim(r)
		if got.Worker() != 6 || got.Continues() != test.want || got.Floor() != c.Floor()+1000 {
			k.Errorf("%s: worker ID %d, continues %v, floor %d; want 6, %v, %d",
				test.name, got.Worker(), got.Continues(), got.Floor(), test.want, c.Floor()+1000)
		}
		k.release(got, 0)
	}
	// A record that nobody has opened is no one's.
	if k.start("c").claim(wanting(7)).Continues() {
		k.Error("the first opening of a record continues something")
	}
}

func pendingContinues(k *kit) {
	observer := k.start("observer")
	n := k.start("a")
	c := n.claim(wanting(2))
	k.extend(c, coord.Progress{Ceiling: 1000, Mark: 10})
	drops := 0
	between := func(p coord.Pending) {
		// The claim is there, its opening is not yet.
		if m, ok := observer.member(p.Worker()); p.Worker() != 2 || !ok || m.Opening != "" {
			k.Errorf("worker ID %d is pending with %+v, which is too late", p.Worker(), m)
		}
		Drops(&drops)(p)
	}
	k.revoke(n)
	back := n.claimWith(continuing(c, 10), between)
	if !back.Continues() || drops != 0 {
		k.Errorf("continues %v, dropped %d times; want true and never", back.Continues(), drops)
	}
	k.revoke(n)
	// The request is of the opening before the last.
	if again := n.claimWith(continuing(c, 10), between); again.Continues() || drops == 0 {
		k.Errorf("continues %v, dropped %d times; want false and at least once", again.Continues(), drops)
	}
}

// What a pending claim says is void once another has opened its record, and it opens nothing then.
func racedOpening(k *kit) {
	n, other, o := k.start("a"), k.start("b"), k.operator()
	first := n.claim(wanting(2))
	k.extend(first, coord.Progress{Ceiling: 1000, Mark: 10})
	k.revoke(n)
	pending := must.Get(n.Claim(k.Context(), continuing(first, 10)))(k)
	m, ok := n.member(2)
	if !ok || m.Opening != "" || m.Ceiling != 1000 || pending.Worker() != 2 || !pending.Continues() {
		k.Fatalf("worker ID %d is pending, continues %v, with %+v", pending.Worker(), pending.Continues(), m)
	}
	must.Do(k, o.Clear(k.Context(), m.Claim))
	between := other.claim(wanting(2))
	if claim, err := pending.Open(k.Context()); !errors.Is(err, coord.ErrRaced) || claim != nil {
		k.Fatalf("Open after another's: %v, %v; want ErrRaced", claim, err)
	}
	if m, _ := n.member(2); m.Opening != between.Opening() {
		k.Errorf("the record is %+v, want it opened by %s", m, between.Opening())
	}
	k.extend(between, coord.Progress{Ceiling: 2000})
}

func holderWhoCameBack(k *kit) {
	j, other := k.start("j"), k.start("k")
	first := j.claim(wanting(0))
	k.extend(first, coord.Progress{Ceiling: 2, Mark: 1})
	k.revoke(j)
	between := other.claim(wanting(0))
	k.extend(between, coord.Progress{Ceiling: 4, Issued: 3, Mark: 3})
	k.revoke(other)
	// The same process comes back, opens, and dies before it journals that.
	back := j.claim(continuing(first, 1))
	if back.Worker() != 0 || back.Continues() || back.Floor() != 4 {
		k.Fatalf("back: worker ID %d, continues %v, floor %d; want 0, false, 4", back.Worker(), back.Continues(), back.Floor())
	}
	k.revoke(j)
	got := k.start("j").claim(continuing(first, 1))
	if got.Worker() != 0 || got.Continues() || got.Floor() != 4 {
		k.Errorf("restart: worker ID %d, continues %v, floor %d; want 0, false, 4: tick 3 was issued", got.Worker(), got.Continues(), got.Floor())
	}
}

// A daemon that came back to a worker ID which it had left knows two openings of it.
func backToTheFirst(k *kit) {
	n := k.start("a")
	first := n.claim(wanting(1))
	k.extend(first, coord.Progress{Ceiling: 500, Issued: 40, Mark: 50})
	second := n.claim(wanting(2))
	k.release(first, 50)
	k.extend(second, coord.Progress{Ceiling: 500, Issued: 90, Mark: 100})
	r := wanting(1)
	r.Opening, r.Mark = second.Opening(), 100
	third := n.claim(r)
	if third.Worker() != 1 || third.Continues() || third.Floor() != 50 {
		k.Fatalf("back: worker ID %d, continues %v, floor %d; want 1, false, 50", third.Worker(), third.Continues(), third.Floor())
	}
	k.extend(third, coord.Progress{Ceiling: 900, Issued: 190, Mark: 200})
	k.revoke(n)
	for _, old := range []coord.Claim{first, second} {
		r := continuing(old, 1000)
		r.Worker = 1
		stranger := k.start("")
		if got := stranger.claim(r); got.Worker() != 1 || got.Continues() || got.Floor() != 900 {
			k.Fatalf("opening of worker ID %d: got %d, continues %v, floor %d; want 1, false, 900", old.Worker(), got.Worker(), got.Continues(), got.Floor())
		}
		k.revoke(stranger)
	}
	// Nor is the newest, now that others opened.
	if got := n.claim(continuing(third, 200)); got.Continues() || got.Floor() != 900 {
		k.Errorf("continues %v, floor %d; want false, 900", got.Continues(), got.Floor())
	}
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
	next := k.start("b").claim(wanting(c.Worker()))
	k.extend(next, coord.Progress{Ceiling: 10})
	if m, _ := n.member(c.Worker()); m.Ceiling != 501 {
		k.Errorf("the next holder lowered the ceiling to %d", m.Ceiling)
	}
}

func extendAfterSession(k *kit) {
	n, other := k.start("a"), k.start("b")
	c := n.claim(wanting(3))
	k.extend(c, coord.Progress{Ceiling: 100})
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
	n, other := k.start("a"), k.start("b")
	c := n.claim(wanting(3))
	k.extend(c, coord.Progress{Ceiling: 100})
	k.revoke(n)
	pending := must.Get(other.Claim(k.Context(), wanting(3)))(k)
	theirs, _ := n.member(3)
	for range 2 {
		if err := c.Extend(k.Context(), coord.Progress{Ceiling: 200}); !errors.Is(err, coord.ErrLost) {
			k.Errorf("Extend after another's claim: %v, want ErrLost", err)
		}
	}
	if ms := n.members(); len(ms) != 1 || ms[0].Claim != theirs.Claim || c.Name() != "" {
		k.Errorf("Members: %+v, want the other's claim alone", ms)
	}
	if _, err := pending.Open(k.Context()); !errors.Is(err, coord.ErrRaced) {
		k.Errorf("Open of what was extended meanwhile: %v, want ErrRaced", err)
	}
	if got := other.claim(wanting(3)); got.Worker() != 3 || got.Floor() != 200 {
		k.Errorf("worker ID %d above %d, want 3 above 200", got.Worker(), got.Floor())
	}
}

func extendAfterOpening(k *kit) {
	a, b := k.start("a"), k.start("b")
	lost := a.claim(wanting(3))
	k.extend(lost, coord.Progress{Ceiling: 100})
	k.revoke(a)
	now := b.claim(wanting(3))
	if now.Worker() != 3 {
		k.Fatalf("worker ID %d, want 3", now.Worker())
	}
	for range 2 {
		if err := lost.Extend(k.Context(), coord.Progress{Ceiling: 9000}); !errors.Is(err, coord.ErrLost) {
			k.Errorf("Extend after another's opening: %v, want ErrLost", err)
		}
	}
	k.extend(now, coord.Progress{Ceiling: 200})
	if m, _ := b.member(3); m.Ceiling != 200 || m.Opening != now.Opening() {
		k.Errorf("the lost claim wrote: %+v", m)
	}
}

func extendTwo(k *kit) {
	n := k.start("a")
	a, b := n.claim(fresh()), n.claim(fresh())
	k.extend(a, coord.Progress{Ceiling: 100})
	k.extend(b, coord.Progress{Ceiling: 200})
	k.release(a, 50)
	k.extend(b, coord.Progress{Ceiling: 300})
	if ms := n.members(); len(ms) != 1 || ms[0].Claim != b.Name() || ms[0].Ceiling != 300 {
		k.Errorf("Members: %+v", ms)
	}
}

func releaseLowers(k *kit) {
	n := k.start("a")
	c := n.claim(anyone())
	k.extend(c, coord.Progress{Ceiling: 1000, Issued: 100, Mark: 400})
	k.release(c, 300)
	if err := c.Extend(k.Context(), coord.Progress{Ceiling: 2000}); !errors.Is(err, coord.ErrLost) {
		k.Errorf("Extend after Release: %v, want ErrLost", err)
	}
	if err := c.Release(k.Context(), 200); !errors.Is(err, coord.ErrLost) {
		k.Errorf("Release after Release: %v, want ErrLost", err)
	}
	if ms := n.members(); len(ms) != 0 {
		k.Errorf("released, and still there: %+v", ms)
	}
	// The journal says so too: it continues from there.
	got := k.start("a").claim(continuing(c, 300))
	if got.Worker() != c.Worker() || got.Floor() != 300 || !got.Continues() {
		k.Errorf("worker ID %d, floor %d, continues %v; want %d, 300, true", got.Worker(), got.Floor(), got.Continues(), c.Worker())
	}
}

func releaseFloor(k *kit) {
	n := k.start("a")
	c := n.claim(wanting(1))
	k.extend(c, coord.Progress{Ceiling: 1000})
	k.revoke(n)
	next := k.start("b").claim(wanting(1))
	k.extend(next, coord.Progress{Ceiling: 5000})
	k.release(next, 10) // it issued nothing; what is below 1000 is not its own
	if got := k.floorOf(1); got != 1000 {
		k.Errorf("floor %d, want 1000", got)
	}
}

func releaseContinued(k *kit) {
	n := k.start("a")
	c := n.claim(wanting(1))
	k.extend(c, coord.Progress{Ceiling: 1000, Issued: 50, Mark: 60})
	k.revoke(n)
	next := n.claim(continuing(c, 65))
	if !next.Continues() {
		k.Fatal("does not continue")
	}
	k.release(next, 70)
	if got := k.floorOf(1); got != 70 {
		k.Errorf("floor %d, want 70: nobody issued above", got)
	}
}

func releaseAfterSession(k *kit) {
	n := k.start("a")
	c := n.claim(wanting(1))
	k.extend(c, coord.Progress{Ceiling: 1000, Issued: 500})
	k.revoke(n)
	k.release(c, 600)
	if ms := n.members(); len(ms) != 0 {
		k.Errorf("Members: %+v, want none", ms)
	}
	if got := k.floorOf(1); got != 600 {
		k.Errorf("floor %d, want 600", got)
	}
}

func releaseAfterOpening(k *kit) {
	a, b := k.start("a"), k.start("b")
	lost := a.claim(wanting(1))
	k.extend(lost, coord.Progress{Ceiling: 1000, Issued: 500})
	k.revoke(a)
	now := b.claim(wanting(1))
	k.extend(now, coord.Progress{Ceiling: 2000})
	if err := lost.Release(k.Context(), 500); !errors.Is(err, coord.ErrLost) {
		k.Errorf("Release after another's opening: %v, want ErrLost", err)
	}
	if m, ok := b.member(1); !ok || m.Ceiling != 2000 || m.Claim != now.Name() {
		k.Errorf("the lost claim's Release left %+v", m)
	}
}
