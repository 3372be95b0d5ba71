//go:build e2e

package drills

import (
	"context"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
)

const (
	day   = 24 * time.Hour
	years = 60 * 365 * day
	// believed is how far an ID may be ahead of the true time where no start is:
	// clockguard.MaxForward, and what it takes to see a clock that is back.
	believed = 1100 * time.Millisecond
)

// lasts is how long a clock stays ahead.
func (r *Run) lasts() time.Duration {
	if r.Long {
		return 30 * time.Second
	}
	return 4 * time.Second
}

// holdsBack waits until the daemon says that its clock is held, or that it is followed.
func holdsBack(ctx context.Context, h *Host, want string) {
	until(ctx, func() {
		if says := h.Info(ctx); says["clock_state"] != want {
			fail("it is %s, %s ms ahead: %s", says["clock_state"], says["clock_ahead_ms"], says["clock_condition"])
		}
	}, "the clock of %s to be %s", h, want)
}

// leap sets a clock ahead for a while, and right again, and makes sure that the daemon has seen
// both.
func (h *Host) leap(ctx context.Context, by, d time.Duration) {
	h.r.Step("the clock of %s goes ahead by %v for %v", h, by, d)
	h.SetClock(by)
	holdsBack(ctx, h, "held")
	last(ctx, d)
	holdsBack(ctx, h, "held")
	h.SetClock(0)
	holdsBack(ctx, h, "followed")
}

// killAndStart returns when the daemon was killed, and when its container had been started.
func killAndStart(ctx context.Context, h *Host) (killed, started evidence.Mono) {
	h.r.Step("the daemon of %s is killed and started again", h)
	killed = evidence.Now()
	h.Kill(ctx)
	h.Start(ctx)
	return killed, evidence.Now()
}

// ahead has one host's clock go ahead under load, and its daemon killed then: the clock is held,
// and the worker ID stays.
func ahead(ctx context.Context, r *Run) func(*Result) {
	h := r.Hosts[0]
	all(ctx, 1000, r.Hosts...)
	begun := evidence.Now()
	for _, by := range []time.Duration{time.Hour, day, years} {
		h.leap(ctx, by, time.Second)
	}
	h.leap(ctx, years, r.lasts())
	right := evidence.Now()
	all(ctx, 1000, r.Hosts...)
	killed, started := killAndStart(ctx, h)
	served := h.AwaitAnswer(ctx).Answered
	all(ctx, 1000, r.Hosts...)
	return func(res *Result) {
		res.neverFailed(r.Others(h)...)
		res.noneFailed(res.Began, killed, h)
		res.stalled(begun, right, 100*time.Millisecond, busy, r.Hosts...)
		res.keptWorker(killed, h)
		res.within("serving after the restart", time.Duration(served-started), restartAim, busy)
		res.marksNear()
	}
}

// aheadIdle is ahead while nobody asks for an ID: the record does not go along.
func aheadIdle(ctx context.Context, r *Run) func(*Result) {
	h := r.Hosts[0]
	all(ctx, 1000, r.Hosts...)
	r.Step("nobody asks %s any more", h)
	h.silence(ctx)
	h.leap(ctx, years, r.lasts())
	killed, started := killAndStart(ctx, h)
	h.ask(ctx)
	served := h.AwaitAnswer(ctx).Answered
	all(ctx, 1000, r.Hosts...)
	return func(res *Result) {
		res.neverFailed(r.Others(h)...)
		res.keptWorker(killed, h)
		res.within("serving after the restart", time.Duration(served-started), restartAim, busy)
		res.marksNear()
	}
}

// aheadAll has all clocks go ahead at once: none of them is believed.
func aheadAll(ctx context.Context, r *Run) func(*Result) {
	all(ctx, 1000, r.Hosts...)
	begun := evidence.Now()
	each(r.Hosts, func(h *Host) { h.leap(ctx, day, r.lasts()) })
	right := evidence.Now()
	all(ctx, 1000, r.Hosts...)
	return func(res *Result) {
		res.neverFailed(r.Hosts...)
		res.stalled(begun, right, 100*time.Millisecond, busy, r.Hosts...)
		res.keptWorker(res.Ended, r.Hosts...)
		res.marksNear()
	}
}

// aheadStart starts a daemon with its clock ahead, three times: it serves by the time of the
// others, and its clock is held until it is right.
func aheadStart(ctx context.Context, r *Run) func(*Result) {
	h := r.Hosts[0]
	all(ctx, 1000, r.Hosts...)
	had := h.holds(ctx)
	r.Step("%s is killed, and its clock goes ahead by %v", h, time.Duration(years))
	h.Kill(ctx)
	h.SetClock(years)
	lapsed(ctx, r, had.claim)
	var took time.Duration
	for range 3 {
		started := evidence.Now()
		h.Start(ctx)
		took = time.Duration(h.AwaitAnswer(ctx).Answered - started)
		holdsBack(ctx, h, "held")
		h.Kill(ctx)
	}
	h.Start(ctx)
	holdsBack(ctx, h, "held")
	all(ctx, 1000, r.Hosts...)
	r.Step("the clock is right again")
	h.SetClock(0)
	holdsBack(ctx, h, "followed")
	all(ctx, 1000, r.Hosts...)
	return func(res *Result) {
		res.neverFailed(r.Others(h)...)
		res.within("serving after the last start", took, 5*time.Second, 5*time.Second+busy)
		res.marksNear()
	}
}

// keptWorker fails the drill if one of those hosts issued from more than one worker ID until then.
func (res *Result) keptWorker(until evidence.Mono, hosts ...*Host) {
	for _, h := range hosts {
		if workers := res.workers(h, res.Began, until); len(workers) != 1 {
			res.Fail("%s issued from the worker IDs %v: its own should have stayed", h, workers)
		}
	}
}

// marksNear fails the drill if a record was further ahead than a window, by clocks that
// lie apart. Daemons go on for a moment when the drill has ended.
func (res *Result) marksNear() {
	latest := res.Run.Layout.TickAt(res.Run.trueTime(res.Ended) + int64(res.Run.options.Window+apart))
	for _, v := range res.History {
		if v.Ceiling > latest {
			res.Fail("the record of worker ID %d had the ceiling %v, further ahead than a window of %v", v.Worker,
				res.Run.Layout.StartOf(v.Ceiling).UTC().Format(time.RFC3339), res.Run.options.Window)
			return
		}
	}
}
