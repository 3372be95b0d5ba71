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

func leaderClock(ctx context.Context, r *Run) error {
	seen, h := rules.of(r), r.Hosts[0]
	if err := all(ctx, r.Hosts, 1000); err != nil {
		return err
	}
	for _, off := range []time.Duration{-time.Hour, time.Hour} {
		leader, err := r.Members.Leader(ctx)
		if err != nil {
			return err
		}
		r.Step("the clock of %s, which leads, is off by %v", leader, off)
		if err := r.Members.SetClock(ctx, leader, off); err != nil {
			return err
		}
		if err := all(ctx, r.Hosts, 1000); err != nil {
			return err
		}
		r.Step("%s is killed, loses its state, and is started", h.Name)
		if err := h.Kill(ctx); err != nil {
			return err
		}
		if err := h.LoseState(ctx); err != nil {
			return err
		}
		if err := h.Start(ctx); err != nil {
			return err
		}
		seen.started = append(seen.started, evidence.Now())
		first, err := h.AwaitAnswer(ctx)
		if err != nil {
			return err
		}
		seen.served = append(seen.served, first.Answered)
		if err := Each(r.Hosts, func(h *Host) error { return holdsBack(ctx, r, h, false) }); err != nil {
			return err
		}
		if err := r.Members.rightClocks(); err != nil {
			return err
		}
	}
	return all(ctx, r.Hosts, 1000)
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
