//go:build e2e

package drills

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
)

// setback is a step back of one host's clock, under load.
type setback struct {
	by     time.Duration
	answer string // what the guard has to answer
	times  int
	watch  time.Duration // how long answers are watched after a step; where the ring answers, it has to last for all of it, and for that before
	aim    time.Duration
	// The median's, above which the drill fails: far above the aim, and far below what it costs to
	// wait for the clock. No stall is longer than watch, so it is below that.
	limit time.Duration
}

// added reports whether what counts is the stall above the one before the step, over as long.
func (s setback) added() bool { return s.answer == "ring" }

// before is how long before a step answers are watched.
func (s setback) before() time.Duration {
	if s.added() {
		return s.watch
	}
	return 200 * time.Millisecond // the clients go on with what they waited for
}

// busy is how long a service may have to wait for IDs, whatever befell its host, on a machine that
// does much else.
const busy = 3 * time.Second

// settled is when a step of a clock is over, for those who look at what came of it: a stall that is
// longer than busy shows within it.
const settled = busy + 500*time.Millisecond

// answers are how often the clock guard has given each of its answers, since before.
func (h *Host) answers(ctx context.Context, before map[string]int) map[string]int {
	all, says := map[string]int{}, h.Info(ctx)
	for _, name := range []string{"sleep", "ring", "release", "backfill", "wait"} {
		all[name] = mustGet(strconv.Atoi(says["answered_"+name])) - before[name]
	}
	return all
}

func (s setback) script(ctx context.Context, r *Run) func(*Result) {
	h := r.Hosts[0]
	var at []evidence.Mono
	all(ctx, 1000, r.Hosts...)
	before := h.answers(ctx, nil)
	r.Step("the clock of %s goes back by %v, %d times, and answers are watched for %v before and %v after", h, s.by, s.times, s.before(), s.watch)
	r.Quiet(func() {
		for range s.times {
			last(ctx, s.before())
			at = append(at, evidence.Now())
			h.SetClock(h.Offset() - s.by)
			last(ctx, s.watch)
		}
	})
	answers := h.answers(ctx, before)
	r.Step("the guard answered: %v", answers)
	all(ctx, 1000, r.Hosts...)
	return func(res *Result) {
		res.neverFailed(r.Hosts...)
		if answers[s.answer] == 0 {
			res.Fail("the guard should have answered by %s, and answered: %v", s.answer, answers)
		}
		if s.answer != "release" && answers["release"] > 0 {
			res.Fail("a step back of %v cost a worker ID; the guard answered: %v", s.by, answers)
		}
		res.canTell(s.watch, s.limit)
		var stalls []time.Duration
		for _, at := range at {
			stall := h.Replies.LongestStall(at, at+evidence.Mono(s.watch))
			if s.added() {
				stall -= h.Replies.LongestStall(at-evidence.Mono(s.before()), at)
			}
			stalls = append(stalls, stall)
			if s.answer == "release" {
				res.servedAfter(h, at, s.by)
			}
		}
		slices.Sort(stalls)
		res.within("stall, worst", stalls[len(stalls)-1], s.aim, settled)
		res.within("stall, median", stalls[len(stalls)/2], s.aim, s.limit)
	}
}

// servedAfter fails the drill if the host had no IDs of the time that its clock shows, long enough
// after it went back at an instant: another worker ID was to be had, or its own, opened anew there.
func (res *Result) servedAfter(h *Host, at evidence.Mono, by time.Duration) {
	n := 0
	for _, r := range h.Replies.between(at+evidence.Mono(time.Second), at+evidence.Mono(settled)) {
		for _, run := range r.IDs {
			n++
			parts, err := res.Run.Layout.Decompose(run.First)
			if err != nil || parts.Time.UnixNano() > res.Run.trueTime(r.Answered)-int64(by/2) {
				res.Fail("%s gave %d a second after its clock went back by %v, which is of the time before, %v: %v", h, run.First, by, parts.Time, err)
				return
			}
		}
	}
	if n == 0 {
		res.Fail("%s gave nothing a second after its clock went back by %v", h, by)
	}
}

// backAll has all clocks go back at once, by 2 s and then by 1 h.
func backAll(ctx context.Context, r *Run) func(*Result) {
	all(ctx, 1000, r.Hosts...)
	back := func(by time.Duration) (at evidence.Mono) {
		r.Step("the clocks of all hosts go back by %v", by)
		at = evidence.Now()
		each(r.Hosts, func(h *Host) { h.SetClock(h.Offset() - by) })
		last(ctx, settled)
		for _, h := range r.Hosts {
			if now := h.answers(ctx, nil); now["ring"]+now["release"] == 0 {
				fail("the drill is void: the clock of %s went back by %v, and its guard answered: %v", h, by, now)
			}
		}
		return at
	}
	little, much := back(2*time.Second), back(time.Hour)
	all(ctx, 1000, r.Hosts...)
	return func(res *Result) {
		res.neverFailed(r.Hosts...)
		res.stalled(little, little+evidence.Mono(settled), time.Second, busy, r.Hosts...)
		res.stalled(much, much+evidence.Mono(settled), time.Second, busy, r.Hosts...)
		for _, h := range r.Hosts {
			res.servedAfter(h, much, time.Hour)
		}
	}
}

const (
	oscillateBy  = 200 * time.Millisecond
	oscillateFor = 10 * time.Second
)

func oscillation(ctx context.Context, r *Run) func(*Result) {
	h := r.Hosts[0]
	all(ctx, 1000, r.Hosts...)
	before := h.answers(ctx, nil)
	r.Step("the clock of %s jumps between %v ahead and behind for %v", h, oscillateBy, oscillateFor)
	begun := evidence.Now()
	h.Oscillate(ctx, oscillateBy, oscillateFor)
	ended := evidence.Now()
	answers := h.answers(ctx, before)
	r.Step("the guard answered: %v", answers)
	if answers["ring"] == 0 {
		fail("the drill is void: the guard answered: %v", answers)
	}
	all(ctx, 1000, r.Hosts...)
	return func(res *Result) {
		res.neverFailed(r.Hosts...)
		res.stalled(begun, ended, 100*time.Millisecond, busy, h)
	}
}
