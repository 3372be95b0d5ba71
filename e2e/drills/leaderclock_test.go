//go:build e2e

package drills

import (
	"context"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
)

// ruled is the drill of a leader whose clock is wrong.
type ruled struct {
	started, served []evidence.Mono
}

var rules notes[ruled]

func leaderClock(ctx context.Context, r *Run) {
	seen, h := rules.of(r), r.Hosts[0]
	must(all(ctx, r.Hosts, 1000))
	for _, off := range []time.Duration{-time.Hour, time.Hour} {
		leader := mustGet(r.Members.Leader(ctx))
		r.Step("the clock of %s, which leads, is off by %v", leader, off)
		must(r.Members.SetClock(ctx, leader, off))
		must(all(ctx, r.Hosts, 1000))
		r.Step("%s is killed, loses its state, and is started", h.Name)
		must(h.Kill(ctx))
		must(h.LoseState(ctx))
		must(h.Start(ctx))
		seen.started = append(seen.started, evidence.Now())
		first := mustGet(h.AwaitAnswer(ctx))
		seen.served = append(seen.served, first.Answered)
		must(Each(r.Hosts, func(h *Host) error { return holdsBack(ctx, r, h, false) }))
		must(r.Members.rightClocks())
	}
	must(all(ctx, r.Hosts, 1000))
}

func judgeLeaderClock(res *Result) {
	seen := rules.of(res.Run)
	for _, h := range res.Run.Others(res.Run.Hosts[0]) {
		noneFailed(res, h.Index, res.Drill.Began, res.Drill.Ended)
	}
	for i, what := range []string{"behind", "ahead"} {
		if i < len(seen.served) {
			within(res, "serving after a start, the leader "+what, time.Duration(seen.served[i]-seen.started[i]), 5*time.Second, 5*time.Second+busy)
		}
	}
	marksNear(res)
}
