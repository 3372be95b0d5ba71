//go:build e2e

package drills

import (
	"context"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/generator"
)

// cutWindow outlasts a session of a daemon that was cut off, by much.
const cutWindow = 7 * time.Second

// cutOff cuts a daemon off from the coordinator for longer than its session, and then for longer
// than its window: it issues to the end of its grant, says why no further, and serves again once it
// is healed.
func cutOff(ctx context.Context, r *Run) func(*Result) {
	h := r.Hosts[0]
	had := h.holds(ctx)
	r.Step("cutting %s off from the coordinator", h)
	h.Cut(ctx, Both)
	lapsed(ctx, r, had.claim)
	over := evidence.Now()
	r.Step("its session has ended; it goes on to issue")
	h.AwaitIDs(ctx, 1000)
	refusal := h.AwaitRefusal(ctx)
	r.Step("its grant has ended, and it says: %s", refusal.Text)
	says("the refusal", refusal.Text, "since ", "try again later", r.Members.all[0].Name)
	ceiling := h.holds(ctx).ceiling
	h.AwaitNone(ctx, 500*time.Millisecond)
	r.Step("healing")
	heals := evidence.Now() // packets pass before it is done
	h.Heal(ctx)
	h.AwaitAnswer(ctx)
	now := reclaimed(ctx, h, had)
	r.Step("it serves, with worker ID %d; it had %d", now.worker, had.worker)
	if now.opening != had.opening {
		fail("it had opening %s, and has %s: its grant is to go on", had.opening, now.opening)
	}
	all(ctx, 1000, r.Hosts...)
	return func(res *Result) {
		res.noneFailed(res.Began, over, h)
		res.neverFailed(r.Others(h)...)
		failed := h.Replies.Failed(over, heals)
		if len(failed) == 0 {
			res.Fail("the drill is void: no request failed")
			return
		}
		if n := h.Replies.IDs(over, failed[0].Asked); n < 1000 {
			res.Fail("it issued %d IDs between the end of its session and that of its grant", n)
		}
		var last generator.Tick
		for _, reply := range h.Replies {
			for _, run := range reply.IDs {
				if p, err := r.Layout.Decompose(run.First); err == nil && reply.Answered < heals {
					last = max(last, p.Tick)
				}
			}
		}
		if last > ceiling {
			res.Fail("it issued tick %d, and its grant ended with %d", last, ceiling)
		}
		res.within("time left of its grant when it stopped", time.Duration(ceiling-last)*r.Layout.TickLength(), 20*time.Millisecond, 2*time.Second)
		res.within("IDs after the heal", time.Duration(res.first(h, heals).Answered-heals), 2*time.Second, 10*time.Second)
	}
}

// cutOneWay drops first all that comes from the coordinator, for longer than a session, then all
// that goes to it: no request fails, and the worker ID is claimed again.
func cutOneWay(ctx context.Context, r *Run) func(*Result) {
	h := r.Hosts[0]
	for _, d := range []Direction{In, Out} {
		had := h.holds(ctx)
		r.Step("dropping the packets %s of %s", d, h)
		h.Cut(ctx, d)
		lapsed(ctx, r, had.claim)
		h.AwaitIDs(ctx, 1000)
		r.Step("its session has ended, and it issues; healing")
		if in, out := h.Heal(ctx); (in > 0) != (d == In) || (out > 0) != (d == Out) {
			fail("the drill is void: only packets %s of %s were to be dropped, and %d in and %d out were", d, h, in, out)
		}
		if now := reclaimed(ctx, h, had); now.worker != had.worker {
			fail("%s had worker ID %d, which nobody took, and holds %d", h, had.worker, now.worker)
		}
	}
	all(ctx, 1000, r.Hosts...)
	return func(res *Result) { res.neverFailed(r.Hosts...) }
}
