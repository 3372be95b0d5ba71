//go:build e2e

package drills

import (
	"context"
	"fmt"
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

func init() {
	options := Options{Lead: believed}
	register(
		Drill{
			Name: "clock-ahead",
			What: "one host's clock goes ahead by 1 h, 1 day and 60 years under load, for 1 s each and once for longer, and its daemon is killed and started again: " +
				"no request fails but for the kill, no ID is more than a second ahead, and the worker ID stays until then",
			Options: options,
			Script:  ahead,
			Judge:   judgeAhead,
		},
		Drill{
			Name:    "clock-ahead-idle",
			What:    "the same by 60 years while nobody asks for an ID: its record does not go along, and the daemon serves again after a kill",
			Options: options,
			Script:  aheadIdle,
			Judge:   judgeAheadIdle,
		},
		Drill{
			Name:    "clock-ahead-all",
			What:    "the clocks of all hosts go ahead by 1 day at once: none of them is believed",
			Options: options,
			Script:  aheadAll,
			Judge:   judgeAheadAll,
		},
		Drill{
			Name: "clock-ahead-start",
			What: "a daemon is started three times with its clock 60 years ahead: it serves by the time of the others, and its clock is held " +
				"until it is right",
			Options: Options{Lead: believed, Unordered: true}, // that time is as old as their last publish
			Script:  aheadStart,
			Judge:   judgeAheadStart,
		},
	)
}

// leading is one host's clock, or all hosts', that was ahead for a while.
type leading struct {
	had            held
	first, right   evidence.Mono // the first step ahead, and when the clock was right for good
	killed, served evidence.Mono
	started        evidence.Mono
}

var leads notes[leading]

// lasts is how long a clock stays ahead.
func (r *Run) lasts() time.Duration {
	if r.Long {
		return 30 * time.Second
	}
	return 4 * time.Second
}

// holdsBack waits until the daemon says that its clock is held, or that it is not.
func holdsBack(ctx context.Context, r *Run, h *Host, want bool) error {
	state := map[bool]string{true: "held", false: "followed"}[want]
	return lookUntil(ctx, r, fmt.Sprintf("the clock of %s to be %s", h.Name, state), func() error {
		info, err := h.Info(ctx)
		if err == nil && info["clock_state"] != state {
			err = fmt.Errorf("it is %s, %s ms ahead: %s", info["clock_state"], info["clock_ahead_ms"], info["clock_condition"])
		}
		return err
	})
}

// leap sets a clock ahead for a while, and right again, and makes sure that the daemon has seen
// both.
func (h *Host) leap(ctx context.Context, by, d time.Duration) error {
	h.r.Step("the clock of %s goes ahead by %v for %v", h.Name, by, d)
	if err := h.SetClock(ctx, by); err != nil {
		return err
	}
	if err := holdsBack(ctx, h.r, h, true); err != nil {
		return err
	}
	if err := h.r.Last(ctx, d); err != nil {
		return err
	}
	if err := holdsBack(ctx, h.r, h, true); err != nil {
		return err
	}
	if err := h.SetClock(ctx, 0); err != nil {
		return err
	}
	return holdsBack(ctx, h.r, h, false)
}

// killAndStart returns when the container has been started.
func (s *leading) killAndStart(ctx context.Context, h *Host) {
	h.r.Step("the daemon of %s is killed and started again", h.Name)
	s.killed = evidence.Now()
	must(h.Kill(ctx))
	must(h.Start(ctx))
	s.started = evidence.Now()
}

func ahead(ctx context.Context, r *Run) {
	seen, h := leads.of(r), r.Hosts[0]
	must(all(ctx, r.Hosts, 1000))
	seen.had = mustGet(holds(ctx, h))
	seen.first = evidence.Now()
	for _, by := range []time.Duration{time.Hour, day, years} {
		must(h.leap(ctx, by, time.Second))
	}
	must(h.leap(ctx, years, r.lasts()))
	seen.right = evidence.Now()
	must(all(ctx, r.Hosts, 1000))
	seen.killAndStart(ctx, h)
	seen.served = mustGet(h.AwaitAnswer(ctx)).Answered
	must(all(ctx, r.Hosts, 1000))
}

func judgeAhead(res *Result) {
	seen := leads.of(res.Run)
	for _, h := range res.Run.Others(res.Run.Hosts[0]) {
		noneFailed(res, h.Index, res.Drill.Began, res.Drill.Ended)
	}
	noneFailed(res, 0, res.Drill.Began, seen.killed)
	stalled(res, "longest stall", res.LongestStall, seen.first, seen.right, 100*time.Millisecond, busy)
	keptWorker(res, seen.killed, res.Run.Hosts[0])
	within(res, "serving after the restart", time.Duration(seen.served-seen.started), restartAim, busy)
	marksNear(res)
}

// keptWorker fails the drill if one of those hosts issued from more than one worker ID until then.
func keptWorker(res *Result, until evidence.Mono, hosts ...*Host) {
	for _, h := range hosts {
		if workers := res.Workers(h.Index, res.Drill.Began, until); len(workers) != 1 {
			res.Fail("%s issued from the worker IDs %v: its own should have stayed", h.Name, workers)
		}
	}
}

// marksNear fails the drill if a record was further ahead than a window, by clocks that
// lie apart. Daemons go on for a moment when the drill has ended.
func marksNear(res *Result) {
	latest := res.Run.Layout.TickAt(res.Run.trueTime(res.Drill.Ended) + int64(res.Run.options.Window+apart))
	for _, v := range res.History {
		if v.Ceiling > latest {
			res.Fail("the record of worker ID %d had the ceiling %v, further ahead than a window of %v", v.Worker,
				res.Run.Layout.StartOf(v.Ceiling).UTC().Format(time.RFC3339), res.Run.options.Window)
			return
		}
	}
}

func aheadIdle(ctx context.Context, r *Run) {
	seen, h := leads.of(r), r.Hosts[0]
	must(all(ctx, r.Hosts, 1000))
	seen.had = mustGet(holds(ctx, h))
	r.Step("nobody asks %s any more", h.Name)
	must(h.silence(ctx))
	seen.first = evidence.Now()
	must(h.leap(ctx, years, r.lasts()))
	seen.right = evidence.Now()
	seen.killAndStart(ctx, h)
	must(h.ask(ctx))
	seen.served = mustGet(h.AwaitAnswer(ctx)).Answered
	must(all(ctx, r.Hosts, 1000))
}

func judgeAheadIdle(res *Result) {
	seen := leads.of(res.Run)
	for _, h := range res.Run.Others(res.Run.Hosts[0]) {
		noneFailed(res, h.Index, res.Drill.Began, res.Drill.Ended)
	}
	keptWorker(res, seen.killed, res.Run.Hosts[0])
	within(res, "serving after the restart", time.Duration(seen.served-seen.started), restartAim, busy)
	marksNear(res)
}

func aheadAll(ctx context.Context, r *Run) {
	seen := leads.of(r)
	must(all(ctx, r.Hosts, 1000))
	seen.first = evidence.Now()
	must(Each(r.Hosts, func(h *Host) error { return h.leap(ctx, day, r.lasts()) }))
	seen.right = evidence.Now()
	must(all(ctx, r.Hosts, 1000))
}

func judgeAheadAll(res *Result) {
	seen := leads.of(res.Run)
	noneFailedAnywhere(res)
	stalled(res, "longest stall", res.LongestStall, seen.first, seen.right, 100*time.Millisecond, busy)
	keptWorker(res, res.Drill.Ended+1, res.Run.Hosts...)
	marksNear(res)
}

func aheadStart(ctx context.Context, r *Run) {
	seen, h := leads.of(r), r.Hosts[0]
	must(all(ctx, r.Hosts, 1000))
	seen.had = mustGet(holds(ctx, h))
	r.Step("%s is killed, and its clock goes ahead by %v", h.Name, time.Duration(years))
	seen.killed = evidence.Now()
	must(h.Kill(ctx))
	must(h.SetClock(ctx, years))
	must(lapsed(ctx, r, seen.had.claim))
	for range 3 {
		seen.started = evidence.Now()
		must(h.Start(ctx))
		first := mustGet(h.AwaitAnswer(ctx))
		seen.served = first.Answered
		must(holdsBack(ctx, r, h, true))
		must(h.Kill(ctx))
	}
	must(h.Start(ctx))
	must(holdsBack(ctx, r, h, true))
	must(all(ctx, r.Hosts, 1000))
	r.Step("the clock is right again")
	seen.right = evidence.Now()
	must(h.SetClock(ctx, 0))
	must(holdsBack(ctx, r, h, false))
	must(all(ctx, r.Hosts, 1000))
}

func judgeAheadStart(res *Result) {
	seen := leads.of(res.Run)
	for _, h := range res.Run.Others(res.Run.Hosts[0]) {
		noneFailed(res, h.Index, res.Drill.Began, res.Drill.Ended)
	}
	within(res, "serving after the last start", time.Duration(seen.served-seen.started), 5*time.Second, 5*time.Second+busy)
	marksNear(res)
}
