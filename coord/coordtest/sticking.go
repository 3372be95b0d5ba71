package coordtest

import (
	"errors"
	"fmt"

	"github.com/flakeward/flakeward/coord"
)

var sticking = []testCase{
	{"sticky: the worker ID that the host had last", stickyHost},
	{"sticky: not for a re-lease", stickyNotFresh},
	{"sticky: one host for each worker ID", stickyOnce},
	{"sticky: a live claim is never taken over", notStolen},
	{"sticky: two hosts with one name get two worker IDs", oneName},
	{"sticky: a floor that is too late is left closed", stickyAhead},
	{"sticky: a worker ID out of range is no preference", outOfRange},
	{"dead: its claim is deleted by its host's next start", burying(8)},
	{"dead: its claim is deleted where there is no other worker ID", burying(2)},
	{"dead: a hint that is none", noDead},
	{"a crash loop burns no worker IDs", crashLoop},
}

func stickyHost(k *kit) {
	first := k.start("host/with a slash").claim(wanting(3))
	k.release(first, 10)
	if c := k.start("other").claim(fresh()); c.Worker() == 3 {
		k.Fatal("the case needs worker ID 3 not to be assigned next")
	}
	if c := k.start("host/with a slash").claim(anyone()); c.Worker() != 3 {
		k.Errorf("the host had worker ID 3 last and got %d", c.Worker())
	}
	// What was asked for is taken: the host's own is next.
	k.start("third").claim(wanting(6))
	n := k.start("fourth")
	k.release(n.claim(wanting(7)), 10)
	if c := n.claim(wanting(6)); c.Worker() != 7 {
		k.Errorf("worker ID 6 is taken; got %d, want the host's own, 7", c.Worker())
	}
}

// The preferences of hosts that come and go, as those of pods do, would grow for ever.
func stickyOnce(k *kit) {
	k.release(k.start("gone").claim(wanting(3)), 10)
	moved := k.start("moved")
	k.release(moved.claim(wanting(4)), 10)
	k.release(moved.claim(wanting(5)), 10)
	next := k.start("next")
	for _, worker := range []int{3, 4} {
		k.release(next.claim(wanting(worker)), 20)
	}
	if c := k.start("moved").claim(anyone()); c.Worker() != 5 {
		k.Errorf("a host got worker ID %d, want the one that it had last, 5", c.Worker())
	}
	if c := k.start("next").claim(anyone()); c.Worker() != 4 {
		k.Errorf("a host got worker ID %d, want the one that it had last, 4", c.Worker())
	}
	for k.start("other").claim(fresh()).Worker() == 2 { // then 3 would be assigned next
	}
	if c := k.start("gone").claim(anyone()); c.Worker() == 3 {
		k.Error("a host is preferred for worker ID 3, which another has opened since")
	}
}

func stickyNotFresh(k *kit) {
	n := k.start("a")
	k.release(n.claim(wanting(5)), 10)
	r := fresh()
	r.Worker = 5
	if c := n.claim(r); c.Worker() == 5 {
		k.Error("a re-lease got the worker ID that it left")
	}
}

func notStolen(k *kit) {
	a, held := k.holder("a", 2, coord.Progress{Ceiling: 500})
	for i := range k.workers - 1 {
		c := k.start(fmt.Sprint(i)).claim(wanting(2))
		if c.Worker() == 2 {
			k.Fatal("a live claim's worker ID was given to another")
		}
	}
	k.extend(held, coord.Progress{Ceiling: 600})
	if m, _ := a.member(2); m.Claim != held.Name() || m.Opening != held.Opening() || m.Ceiling != 600 {
		k.Errorf("the live claim %s shows as %+v", held.Name(), m)
	}
}

func oneName(k *kit) {
	a, b := k.start("localhost"), k.start("localhost")
	ca, cb := a.claim(anyone()), b.claim(anyone())
	if ca.Worker() == cb.Worker() {
		k.Fatalf("two hosts of one name both got worker ID %d", ca.Worker())
	}
	k.extend(ca, coord.Progress{Ceiling: 100})
	k.extend(cb, coord.Progress{Ceiling: 100})
}

func stickyAhead(k *kit) {
	n, c := k.holder("a", 4, coord.Progress{Ceiling: 9000, Issued: 90})
	k.revoke(n)
	stranger := wanting(4)
	stranger.Latest = 1000
	again := k.start("a")
	if got := again.claim(stranger); got.Worker() == 4 {
		k.Fatal("opened a worker ID whose floor is later than asked for")
	}
	// It was not even opened.
	if m, _ := k.mark(k.operator(), 4); m.Holder != c.Opening() {
		k.Errorf("the record is %+v, want it opened by %s", m, c.Opening())
	}
}

func outOfRange(k *kit) {
	n := k.start("a")
	for _, w := range []int{k.workers, 1 << 40, -7} {
		if c := n.claim(wanting(w)); c.Worker() < 0 || c.Worker() >= k.workers {
			k.Errorf("asked for worker ID %d of %d, got %d", w, k.workers, c.Worker())
		}
	}
}

func crashLoop(k *kit) {
	k.workers = 1024
	const crashes = 200
	used := map[int]bool{}
	request := anyone()
	request.Latest = 1000
	for i := range crashes {
		n := k.start("a")
		c := n.claim(request)
		used[c.Worker()] = true
		if c.Floor() != 0 {
			k.Fatalf("crash %d: floor %d, though nothing was ever granted", i, c.Floor())
		}
		// The process dies before its first Extend.
		request = wanting(c.Worker())
		request.Latest = 1000
		k.revoke(n)
	}
	if len(used) > 1 {
		k.Errorf("%d crashes used %d worker IDs", crashes, len(used))
	}
}

// A process that is known to be dead leaves its claim to its session. The next start of its host
// does not wait for its end: it deletes the claim where it meets it, on the worker ID that the host
// had last.
func burying(workers int) func(*kit) {
	return func(k *kit) {
		k.workers = workers
		before, other := k.start("a"), k.start("b")
		dead, beside := before.claim(anyone()), other.claim(anyone())
		k.extend(dead, coord.Progress{Ceiling: 100})
		next := k.startAfter("a", before.identity.Incarnation)
		request := anyone()
		request.Latest = 50 // what the dead one had rests
		c := next.claim(request)
		k.extend(c, coord.Progress{Ceiling: 200})
		if all := next.members(); len(all) != 2 || all[0].Worker+all[1].Worker != c.Worker()+beside.Worker() {
			k.Errorf("of %d worker IDs, %d is held beside %d, and members are %+v", workers, c.Worker(), beside.Worker(), all)
		}
		// It is no matter of safety: who lives after all is granted more as long as nobody has
		// opened the record.
		err := dead.Extend(k.Context(), coord.Progress{Ceiling: 300})
		if taken := dead.Worker() == c.Worker(); taken != errors.Is(err, coord.ErrLost) || !taken && err != nil {
			k.Errorf("Extend of the dead, whose worker ID has another holder (%v): %v", taken, err)
		}
	}
}

func noDead(k *kit) {
	a := k.start("a")
	c := a.claim(anyone())
	for _, dead := range []string{"nobody", a.identity.Incarnation + "x", a.identity.Incarnation[1:], "../layout", "/", "\xff\x00", "a-b"} {
		b := k.startAfter("b", dead)
		k.extend(b.claim(anyone()), coord.Progress{Ceiling: 100})
	}
	if m, ok := a.member(c.Worker()); !ok || m.Claim != c.Name() {
		k.Errorf("the claim %s was deleted", c.Name())
	}
}
