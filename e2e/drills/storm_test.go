//go:build e2e

package drills

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
)

// A storm's faults, at least.
const shortStorm, longStorm = 6, 100

const shortLimit = 5 * time.Minute

// stormRecovery is how soon every host serves again: a re-election, a session that has to end and a
// worker ID that rests fit in with room. stormTimeout ends a storm in which somebody does not serve
// at all.
const stormRecovery, stormTimeout = 10 * time.Second, time.Minute

// storm has faults of all kinds, some at a time, chosen by a seed: whatever comes together, every
// host serves again soon after the last one is healed.
func storm(ctx context.Context, r *Run) func(*Result) {
	least, ids := shortStorm, 100_000
	if r.Long {
		least, ids = longStorm, 50_000_000
	} else {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, shortLimit, fmt.Errorf("the short form's time of %v is over", shortLimit))
		defer cancel()
	}
	received := func() (n int) {
		for _, h := range r.Hosts {
			n += h.Received()
		}
		return n
	}
	plan, blows, slowest := newForecast(r.Seed, r.Coordinator), 0, time.Duration(0)
	for n := 0; blows < least || received() < ids; n++ {
		g := plan.next()
		r.Step("gust %d of seed %d: %v", n, r.Seed, g.blows)
		if g.calm {
			r.calm(ctx)
		}
		each(g.blows, func(b blow) {
			last(ctx, b.after)
			if err := caught(func() { b.hit(ctx, r) }); err != nil {
				fail("gust %d: %v: %w", n, b, err)
			}
		})
		blows += len(g.blows)
		if !g.rush {
			healed := evidence.Now()
			r.serves(ctx)
			slowest = max(slowest, time.Duration(evidence.Now()-healed))
		}
	}
	r.Step("the storm is over: %d faults; %d IDs", blows, received())
	healed := evidence.Now()
	r.calm(ctx)
	served := evidence.Now()
	all(ctx, 1000, r.Hosts...)
	return func(res *Result) {
		if res.Verdict.Calls.Unknown == 0 {
			res.Missed = append(res.Missed, "no call on the coordinator was of unknown outcome")
		}
		res.within("slowest until all served again after a gust", slowest, stormRecovery, stormTimeout)
		for _, h := range r.Hosts {
			took := time.Duration(res.first(h, healed).Answered - healed)
			res.within("serving after everything was healed", took, stormRecovery, stormRecovery)
		}
		res.noneFailed(served, res.Ended, r.Hosts...)
	}
}

// calm waits until every host serves and the coordinator answers it.
func (r *Run) calm(ctx context.Context) {
	r.Members.AwaitQuorum(ctx)
	r.serves(ctx)
	granted(ctx, r, r.Hosts...)
}

// serves waits until every host has answered, and not for ever.
func (r *Run) serves(ctx context.Context) {
	ctx, cancel := context.WithTimeoutCause(ctx, stormTimeout, fmt.Errorf("everything has been healed for %v", stormTimeout))
	defer cancel()
	each(r.Hosts, func(h *Host) { h.AwaitAnswer(ctx) })
}

// hit does a blow, and heals it.
func (b blow) hit(ctx context.Context, r *Run) {
	lasts := func() { last(ctx, b.lasts) }
	paused := func(who *box) {
		who.Pause(ctx)
		lasts()
		who.Resume(ctx)
	}
	cut := func(who *box, d Direction) {
		who.Cut(ctx, d)
		lasts()
		who.Heal(ctx)
	}
	if b.host < 0 {
		picked := r.Members.all[b.pick]
		switch b.kind {
		case blowMemberPause:
			paused(picked)
		case blowMemberCut:
			cut(picked, Both)
		default:
			down := []*box{picked}
			switch b.kind {
			case blowLeader:
				down[0] = r.Members.Leader(ctx)
			case blowQuorum:
				down = slices.DeleteFunc(slices.Clone(r.Members.all), func(m *box) bool { return m == picked })
			case blowAll:
				down = r.Members.all
			}
			each(down, func(m *box) { m.Kill(ctx) })
			lasts()
			each(down, func(m *box) { m.Start(ctx) })
		}
		r.Members.AwaitQuorum(ctx)
		return
	}
	h := r.Hosts[b.host]
	restarted := func(end func(context.Context)) {
		end(ctx)
		h.SetClock(b.clock)
		h.Start(ctx)
		lasts()
		h.SetClock(0)
	}
	switch b.kind {
	case blowClock:
		h.SetClock(b.clock)
		lasts()
		h.SetClock(0)
	case blowOscillation:
		h.Oscillate(ctx, oscillateBy, b.lasts)
	case blowKill:
		restarted(h.Kill)
	case blowStop:
		restarted(h.Stop)
	case blowDiskLost:
		restarted(func(ctx context.Context) {
			h.Kill(ctx)
			h.LoseDisk(ctx)
		})
	case blowPause:
		paused(&h.box)
	case blowCutBoth:
		cut(&h.box, Both)
	case blowCutIn:
		cut(&h.box, In)
	case blowCutOut:
		cut(&h.box, Out)
	case blowClear:
		h.clear(ctx, b.pick)
	}
}

// clear has an operator delete one of the claims, whoever has it. One that is gone before is no
// error.
func (h *Host) clear(ctx context.Context, pick int) {
	claims := h.r.Members.Claims(ctx)
	if len(claims) == 0 {
		fail("there is no claim to clear")
	}
	name := claims[pick%len(claims)]
	h.fault(h.Name, "claim cleared")
	if err := caught(func() { h.operate(ctx, "claims", "clear", "--yes", name) }); err != nil && slices.Contains(h.r.Members.Claims(ctx), name) {
		must(err)
	}
}
