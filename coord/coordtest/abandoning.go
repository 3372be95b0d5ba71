package coordtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/flakeward/flakeward/coord"
)

var abandoning = []testCase{
	{"the abandoned call: any one request of a claim that lands later bars nobody", abandonedClaim},
	{"the abandoned call: a publish that lands later is known by its writer", abandonedExtend},
	{"the abandoned call: a release that lands later, and another's opening", abandonedRelease},
}

// abandoned makes a call and gives it up when its n-th request is held back. ok is
// false if the call has no such request; it has succeeded then.
func (k *kit) abandoned(n *node, request int, run func(context.Context) error) (release func(), ok bool) {
	k.Helper()
	ctx, cancel := context.WithCancel(k.Context())
	defer cancel()
	held, release := k.Delay(k, n.Coordinator, request)
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	select {
	case err := <-done:
		if err != nil {
			k.Fatalf("a call that nothing held back: %v", err)
		}
		return nil, false
	case <-held:
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		k.Fatalf("request %d was held back: %v, want the context's error", request, err)
	}
	return release, true
}

func abandonedClaim(k *kit) {
	if k.Delay == nil {
		return
	}
	// Far from what is assigned: a late claim on the worker ID that is kept would not show.
	k.workers = 1024
	kept := k.workers - 1
	other := k.start("other")
	for _, r := range []coord.Request{wanting(5), fresh()} {
		late := false // a request made a claim when it landed
		for i := 0; ; i++ {
			what := fmt.Sprintf("%+v, request %d", r, i)
			n := k.start("")
			keeps := n.claim(wanting(kept))
			if keeps.Worker() != kept {
				k.Fatalf("%s: worker ID %d is not free", what, kept)
			}
			p := coord.Progress{Ceiling: keeps.Floor() + 10}
			release, ok := k.abandoned(n, i, func(ctx context.Context) error {
				_, err := n.Claim(ctx, r)
				return err
			})
			if !ok {
				if !late {
					k.Fatalf("%s: no claim came late; the case is void", what)
				}
				k.revoke(n)
				break
			}
			k.extend(keeps, p) // looks for orphans, before there is one
			release()
			for look := 0; !late && look < 10; look++ { // what landed may be listed a little later
				late = len(other.members()) > 1
			}
			k.alone(what, other, n, keeps, p)
			got := other.claim(wanting(5))
			if got.Worker() != 5 {
				k.Errorf("%s: worker ID %d, want 5: what came late bars it", what, got.Worker())
			}
			k.extend(got, coord.Progress{Ceiling: got.Floor() + 10})
			k.release(got, got.Floor()+5)
			k.revoke(n)
		}
	}
}

func abandonedExtend(k *kit) {
	if k.Delay == nil {
		return
	}
	observer, n := k.start("observer"), k.start("a")
	c := n.claim(anyone())
	release, ok := k.abandoned(n, 0, func(ctx context.Context) error {
		return c.Extend(ctx, coord.Progress{Ceiling: 500})
	})
	if !ok {
		k.Fatal("no request was held back; the case is void")
	}
	release()
	if m, _ := observer.member(c.Worker()); m.Ceiling != 500 {
		k.Fatalf("what was held back did not land: %+v", m)
	}
	k.acknowledged("after that", observer, c, coord.Progress{Ceiling: 600})
	// One that lands after it was sent again, and a later one stored, changes nothing any more.
	release, ok = k.abandoned(n, 0, func(ctx context.Context) error {
		return c.Extend(ctx, coord.Progress{Ceiling: 9000})
	})
	if !ok {
		k.Fatal("no request was held back; the case is void")
	}
	k.acknowledged("overtaken", observer, c, coord.Progress{Ceiling: 9100})
	release()
	k.acknowledged("after what was overtaken", observer, c, coord.Progress{Ceiling: 9100})
}

// abandonedRelease: a Release that is lost may have lowered the record, by a try without an answer, if
// another opened the record after that.
func abandonedRelease(k *kit) {
	if k.Delay == nil {
		return
	}
	observer, n := k.start("observer"), k.start("a")
	c := n.claim(anyone())
	k.acknowledged("before it", observer, c, coord.Progress{Ceiling: 1000})
	release, ok := k.abandoned(n, 0, func(ctx context.Context) error { return c.Release(ctx, 60) })
	if !ok {
		k.Fatal("no request was held back; the case is void")
	}
	release()
	next := k.start("b").claim(wanting(c.Worker()))
	if next.Worker() != c.Worker() || next.Floor() != 60 {
		k.Fatalf("the next claim has worker ID %d and floor %d, want %d and 60", next.Worker(), next.Floor(), c.Worker())
	}
	if err := c.Release(k.Context(), 60); !errors.Is(err, coord.ErrLost) {
		k.Errorf("Release after another's opening: %v, want ErrLost", err)
	}
	k.acknowledged("after it", observer, next, coord.Progress{Ceiling: 500})
}
