package coordtest

import (
	"context"
	"errors"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

var reopening = []testCase{
	{"reopened: where its time is, by the holder itself", reopened},
	{"reopened: not where nothing is gained", notReopened},
	{"reopened: not by one whose claim is lost", reopenedLost},
	{"reopened: after a raise", reopenedRaised},
	{"reopened: any one request", anyRequestReopening},
	{"reopened: nobody asks again for what got no answer", reopenedAbandoned},
}

func (k *kit) reopen(c coord.Claim, tick generator.Tick) coord.Claim {
	k.Helper()
	next, err := c.Reopen(k.Context(), tick, tick)
	if err != nil {
		k.Fatalf("Reopen of worker ID %d at %d: %v", c.Worker(), tick, err)
	}
	return next
}

func reopened(k *kit) {
	k.largest = gapWindow
	n, o := k.start("a"), k.operator()
	first := n.claim(at(100, wanting(1)))
	k.extend(first, coord.Progress{Ceiling: 110, Issued: 101, Mark: 105})
	ahead := k.reopen(first, 5000)
	if ahead.Worker() != 1 || ahead.Name() != first.Name() || ahead.Opening() == first.Opening() || ahead.Continues() || ahead.Floor() != 4999 || ahead.Until() != 0 {
		k.Fatalf("reopened as %s of %s, continues %v above %d until %d", ahead.Opening(), ahead.Name(), ahead.Continues(), ahead.Floor(), ahead.Until())
	}
	if err := first.Extend(k.Context(), coord.Progress{Ceiling: 120}); !errors.Is(err, coord.ErrLost) {
		k.Errorf("Extend of the claim before: %v, want ErrLost", err)
	}
	if err := first.Release(k.Context(), 101); !errors.Is(err, coord.ErrLost) {
		k.Errorf("Release of the claim before: %v, want ErrLost", err)
	}
	if _, err := first.Reopen(k.Context(), 9000, 9000); !errors.Is(err, coord.ErrLost) {
		k.Errorf("Reopen of the claim before: %v, want ErrLost", err)
	}
	k.extend(ahead, coord.Progress{Ceiling: 5010, Issued: 5001, Mark: 5002})
	k.has(5010, coord.Gap{From: 0, To: 99}, coord.Gap{From: 110, To: 4999})
	back := k.reopen(ahead, 112)
	if back.Floor() != 110 || back.Until() != 4999 {
		k.Fatalf("back above %d until %d, want 110 and 4999", back.Floor(), back.Until())
	}
	k.extend(back, coord.Progress{Ceiling: 122, Issued: 115, Mark: 118})
	if m, _ := n.member(1); m.Opening != back.Opening() || m.Ceiling != 122 || m.Until != 4999 || m.Issued != 115 || m.Mark != 118 {
		k.Errorf("the member is %+v", m)
	}
	k.check(o, 1, []issue{{99, 110, n, first}, {4999, 5010, n, ahead}, {110, 122, n, back}})
	// The opening is one that can be continued, and those before cannot.
	k.revoke(n)
	for _, old := range []coord.Claim{first, ahead} {
		c := k.start("b").claim(at(130, continuing(old, 1<<30)))
		if c.Worker() != 1 || c.Continues() {
			k.Errorf("worker ID %d, continues %v: what was reopened since is not continued", c.Worker(), c.Continues())
		}
		k.release(c, c.Floor())
	}
	c := n.claim(at(130, wanting(1)))
	k.extend(c, coord.Progress{Ceiling: 140, Mark: 135})
	again := k.reopen(c, 300)
	k.extend(again, coord.Progress{Ceiling: 310, Mark: 305})
	k.revoke(n)
	if got := n.claim(at(306, continuing(again, 305))); !got.Continues() || got.Until() != 4999 {
		k.Errorf("continues %v until %d, want true and 4999", got.Continues(), got.Until())
	}
}

func notReopened(k *kit) {
	k.largest = gapWindow
	n := k.start("a")
	c := n.claim(at(100, wanting(1)))
	k.extend(c, coord.Progress{Ceiling: 110})
	before, _ := n.member(1)
	for _, test := range []struct {
		name       string
		at, latest generator.Tick
	}{
		{"its own place", 105, 1 << 40},
		{"at the last tick of it", 120, 1 << 40},
		{"a window past what it was granted", 121, 1 << 40},
		{"the floor is later", 95, 94},
	} {
		var none *coord.NoRoomError
		if _, err := c.Reopen(k.Context(), test.at, test.latest); !errors.As(err, &none) || none.Worker != 1 {
			k.Errorf("%s: %v, want a *NoRoomError", test.name, err)
		}
	}
	if after, _ := n.member(1); after != before {
		k.Errorf("the record was %+v and is %+v", before, after)
	}
	k.extend(c, coord.Progress{Ceiling: 120})
}

func reopenedLost(k *kit) {
	k.largest = gapWindow
	a, b := k.start("a"), k.start("b")
	c := a.claim(at(100, wanting(1)))
	k.extend(c, coord.Progress{Ceiling: 110})
	k.revoke(a)
	other := b.claim(at(111, wanting(1)))
	k.extend(other, coord.Progress{Ceiling: 121})
	if _, err := c.Reopen(k.Context(), 5000, 5000); !errors.Is(err, coord.ErrLost) {
		k.Errorf("Reopen of a lost claim: %v, want ErrLost", err)
	}
	k.extend(other, coord.Progress{Ceiling: 125})
	k.has(125, coord.Gap{From: 0, To: 99})
}

func reopenedRaised(k *kit) {
	k.largest = gapWindow
	n := k.start("a")
	c := n.claim(at(100, wanting(1)))
	k.extend(c, coord.Progress{Ceiling: 110})
	k.raise(k.operator(), 3000)
	for _, tick := range []generator.Tick{50, 5000} { // in a gap that the raise has voided, and above
		var raised *coord.RaisedError
		if _, err := c.Reopen(k.Context(), tick, 5000); !errors.As(err, &raised) || raised.Floor != 3000 {
			k.Errorf("Reopen at %d after a raise: %v, want a *RaisedError", tick, err)
		}
	}
}

func anyRequestReopening(k *kit) {
	k.largest = gapWindow
	observer := k.start("observer")
	tick := generator.Tick(100)
	k.eachFailure(func(what string, arm func(*node) func() bool) bool {
		n := k.start("a")
		first := n.claim(at(tick, wanting(5)))
		k.extend(first, coord.Progress{Ceiling: tick + 10, Mark: tick + 5})
		tick += 1000
		happened := arm(n)
		var c coord.Claim
		k.retried(what+": Reopen", func() (err error) {
			c, err = first.Reopen(k.Context(), tick, tick)
			return err
		})
		if c.Worker() != 5 || c.Floor() != tick-1 || c.Name() != first.Name() {
			k.Fatalf("%s: worker ID %d above %d under %s, want 5 above %d under %s", what, c.Worker(), c.Floor(), c.Name(), tick-1, first.Name())
		}
		p := coord.Progress{Ceiling: tick + 10, Issued: tick + 1, Mark: tick + 5}
		k.acknowledged(what, observer, c, p)
		k.alone(what, observer, n, c, p)
		if err := first.Extend(k.Context(), coord.Progress{Ceiling: tick + 20}); !errors.Is(err, coord.ErrLost) {
			k.Fatalf("%s: Extend of the claim before: %v, want ErrLost", what, err)
		}
		k.retried(what+": Release", func() error { return c.Release(k.Context(), tick+2) })
		k.retried(what+": Close", n.Close)
		tick += 1000
		return happened()
	})
}

// A reopening was stored, its holder was not told, and extends: it has no grant of the new opening,
// and none of the old one.
func reopenedAbandoned(k *kit) {
	if k.Delay == nil {
		return
	}
	k.largest = gapWindow
	for request := 0; ; request++ {
		n := k.start("a")
		r := at(100, wanting(1))
		r.Latest = 1 << 40
		c := n.claim(r)
		k.extend(c, coord.Progress{Ceiling: c.Floor() + 10, Mark: c.Floor() + 5})
		ctx, cancel := context.WithCancel(k.Context())
		held, release := k.Delay(k, n.Coordinator, request)
		done := make(chan error, 1)
		go func() {
			_, err := c.Reopen(ctx, c.Floor()+5000, c.Floor()+5000)
			done <- err
		}()
		select {
		case err := <-done:
			cancel()
			if err != nil {
				k.Fatalf("request %d: a call that nothing held back: %v", request, err)
			}
			return
		case <-held:
		}
		cancel()
		<-done
		release()
		err := c.Extend(k.Context(), coord.Progress{Ceiling: c.Floor() + 20, Mark: c.Floor() + 6})
		if err != nil && !errors.Is(err, coord.ErrLost) {
			k.Errorf("request %d: Extend: %v, want none, or ErrLost", request, err)
		}
		if err == nil {
			k.release(c, c.Floor()+1)
			k.revoke(n)
			continue
		}
		// Nobody has the claim: its node is in nobody's way.
		r = at(c.Floor()+5001, continuing(c, c.Floor()+6))
		r.Predecessor, r.Latest = c.Name(), 1<<40
		back := n.claim(r)
		if back.Worker() != 1 || back.Continues() {
			k.Errorf("request %d: claimed again: worker ID %d, continues %v; want 1 and false", request, back.Worker(), back.Continues())
		}
		k.revoke(n)
	}
}
