package coordtest

import (
	"context"
	"fmt"

	"github.com/flakeward/flakeward/coord"
)

var abandoning = []testCase{
	{"the abandoned call: any one request of a claim that lands later bars nobody", abandonedClaim},
	{"the abandoned call: a publish that lands later is known by its writer", abandonedExtend},
	{"the abandoned call: a release that lands later, and another's opening", abandonedRelease},
}

func abandonedClaim(k *kit) {
	// Far from what is assigned: a late claim on the worker ID that is kept would not show.
	k.workers = 1024
	other := k.start("other")
	for _, r := range []coord.Request{wanting(5), fresh()} {
		late := false // a request made a claim when it landed
		for i := 0; ; i++ {
			what := fmt.Sprintf("%+v, request %d", r, i)
			n := k.start("")
			keeps := n.hold(k.workers - 1)
			p := coord.Progress{Ceiling: keeps.Floor() + 10}
			h := k.holdBack(n.Coordinator, i, call{what, func(ctx context.Context) error { _, err := n.Claim(ctx, r); return err }})
			if h == nil {
				if !late {
					k.Fatalf("%s: no claim came late; the case is void", what)
				}
				k.revoke(n)
				break
			}
			h.giveUp(k)
			k.extend(keeps, p) // looks for orphans, before there is one
			h.release()
			for look := 0; !late && look < 10; look++ { // what landed may be listed a little later
				late = len(other.members()) > 1
			}
			k.alone(what, other, n, keeps, p)
			got := other.hold(5) // what came late does not bar it
			k.extend(got, coord.Progress{Ceiling: got.Floor() + 10})
			k.release(got, got.Floor()+5)
			k.revoke(n)
		}
	}
}

// abandoned makes a call of one request, gives it up, and returns what sends the request.
func (k *kit) abandoned(n *node, run func(context.Context) error) (release func()) {
	k.Helper()
	h := k.holdBack(n.Coordinator, 0, call{"the call", run})
	h.giveUp(k)
	return h.release
}

func abandonedExtend(k *kit) {
	observer, n := k.start("observer"), k.start("a")
	c := n.claim(anyone())
	k.abandoned(n, func(ctx context.Context) error { return c.Extend(ctx, coord.Progress{Ceiling: 500}) })()
	if m, _ := observer.member(c.Worker()); m.Ceiling != 500 {
		k.Fatalf("what was held back did not land: %+v", m)
	}
	k.acknowledged("after that", observer, c, coord.Progress{Ceiling: 600})
	// One that lands after it was sent again, and a later one stored, changes nothing any more.
	release := k.abandoned(n, func(ctx context.Context) error { return c.Extend(ctx, coord.Progress{Ceiling: 9000}) })
	k.acknowledged("overtaken", observer, c, coord.Progress{Ceiling: 9100})
	release()
	k.acknowledged("after what was overtaken", observer, c, coord.Progress{Ceiling: 9100})
}

// abandonedRelease: a Release that is lost may have lowered the record, by a try without an answer,
// if another opened the record after that.
func abandonedRelease(k *kit) {
	observer, n := k.start("observer"), k.start("a")
	c := n.claim(anyone())
	k.acknowledged("before it", observer, c, coord.Progress{Ceiling: 1000})
	k.abandoned(n, func(ctx context.Context) error { return c.Release(ctx, Closed(60)) })()
	next := k.start("b").above(c.Worker(), 60)
	k.wants("Release after another's opening", c.Release(k.Context(), Closed(60)), coord.ErrLost)
	k.acknowledged("after it", observer, next, coord.Progress{Ceiling: 500})
}
