package coordtest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

var assigning = []testCase{
	{"fresh: assigned in turn, and no live one twice", assignedInTurn},
	{"fresh: a floor that is too late is passed over", passedOver},
	{"assigned: with no early floor, the lowest", lowestFloor},
	{"fresh: with no early floor, none", noEarlyFloor},
	{"exhausted: says how many, leaves nothing behind, recovers", exhausted},
}

func assignedInTurn(k *kit) {
	n := k.start("a")
	var got []int
	for range k.workers {
		got = append(got, n.claim(fresh()).Worker())
	}
	for i, w := range got {
		if w != (got[0]+i)%k.workers {
			k.Fatalf("worker IDs were assigned in the order %v, want in turn", got)
		}
	}
}

// ceilings gives the worker IDs these ceilings and leaves them free.
func (k *kit) ceilings(ticks ...generator.Tick) {
	k.Helper()
	k.workers = len(ticks)
	n := k.start("setup")
	for w, ceiling := range ticks {
		k.extend(n.hold(w), coord.Progress{Ceiling: ceiling})
	}
	k.revoke(n)
}

func passedOver(k *kit) {
	k.ceilings(9000, 9000, 300, 9000, 200, 9000)
	r := fresh()
	r.Latest = 1000
	// Whatever is assigned, only two worker IDs are early enough.
	a, b := k.start("a").claim(r), k.start("b").claim(r)
	if a.Worker()+b.Worker() != 2+4 || a.Worker() == b.Worker() {
		k.Errorf("got worker IDs %d and %d, want 2 and 4, whose floors are early", a.Worker(), b.Worker())
	}
	if a.Floor() > r.Latest || b.Floor() > r.Latest {
		k.Errorf("floors %d and %d, want at most %d", a.Floor(), b.Floor(), r.Latest)
	}
}

func lowestFloor(k *kit) {
	k.ceilings(9000, 8000, 7000, 7500, 9500)
	r := anyone()
	r.Latest = 1000
	for i, want := range []int{2, 3, 1, 0, 4} {
		c := k.start(fmt.Sprint(i)).claim(r)
		if c.Worker() != want {
			k.Fatalf("claim %d: worker ID %d with floor %d, want %d, which has the lowest", i, c.Worker(), c.Floor(), want)
		}
	}
}

// A re-lease gains nothing from a worker ID that it would have to wait for too.
func noEarlyFloor(k *kit) {
	k.ceilings(9000, 8000, 7000, 500, 9500)
	holder, n := k.start("holder"), k.start("a")
	holder.hold(3)
	r := fresh()
	r.Latest = 1000
	for range k.workers { // whichever is assigned
		_, err := n.Claim(k.Context(), r)
		var ahead *coord.AheadError
		if !errors.As(err, &ahead) || *ahead != (coord.AheadError{Free: 4, Lowest: 7000, Latest: 1000}) {
			k.Fatalf("Claim: %v, want an AheadError of 4 free above 7000", err)
		}
		if ms := holder.members(); len(ms) != 1 || ms[0].Worker != 3 {
			k.Fatalf("a re-lease that failed left a node behind: %+v", ms)
		}
	}
	r.Latest = 7000
	if c := n.claim(r); c.Worker() != 2 || c.Floor() != 7000 {
		k.Errorf("worker ID %d above %d, want 2 above 7000", c.Worker(), c.Floor())
	}
}

func exhausted(k *kit) {
	k.workers = 3
	n, late := k.start("a"), k.start("b")
	claims := []coord.Claim{n.claim(fresh()), n.claim(fresh()), n.claim(fresh())}
	for _, r := range []coord.Request{anyone(), fresh(), wanting(1)} {
		_, err := late.Claim(k.Context(), r)
		var full *coord.ExhaustedError
		if !errors.As(err, &full) || full.Held != 3 || full.Workers != 3 {
			k.Fatalf("Claim(%+v) with all held: %v, want an ExhaustedError of 3 held of 3", r, err)
		}
		if !strings.Contains(err.Error(), "3 held of 3") {
			k.Errorf("the error %q does not say how many are held of how many", err)
		}
	}
	k.release(claims[1], 10)
	if ms := n.members(); len(ms) != 2 {
		k.Fatalf("a claim that failed left a node behind: %+v", ms)
	}
	if c := late.claim(anyone()); c.Worker() != claims[1].Worker() || c.Floor() != 10 {
		k.Errorf("after a release: worker ID %d above %d, want %d above 10", c.Worker(), c.Floor(), claims[1].Worker())
	}
}
