package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/flakeward/flakeward/e2e/bench/pace"
	"github.com/flakeward/flakeward/e2e/bench/redisbench"
	"github.com/flakeward/flakeward/e2e/bench/report"
)

// openLoad is the load that Leaf publishes a figure for: 50,000 requests a second.
var openLoad = pace.Load{Rate: 50000, Connections: 50, Warm: 500 * time.Millisecond}

const openLoop = "Open loop, 50,000 requests/s over 50 connections"

// measureOpen has requests sent at their times whatever is answered, to the daemon and to Redis in
// turn.
func measureOpen(ctx context.Context, s setting) (found report.Findings, err error) {
	found.Version("Redis", says(ctx, redisbench.Server, "--version"))
	var contestants []inTurn[pace.Result]
	for _, of := range []peer{ours, redis} {
		c, err := enter(ctx, s, of)
		if err != nil {
			return found, err
		}
		defer c.server.Kill()
		round := uint64(0)
		contestants = append(contestants, inTurn[pace.Result]{name: of.name, measure: func(ctx context.Context) (pace.Result, error) {
			l := openLoad
			round++ // both get the same schedule in a round, and another one in the next
			l.Socket, l.Request, l.Length, l.Seed = c.socket, c.command, s.length(3500*time.Millisecond), round
			r, err := runPace(ctx, l)
			if err != nil {
				err = c.fault(err)
			}
			return r, err
		}})
	}
	got, err := interleave(ctx, s.rounds(fullRounds, 2), contestants...)
	if err == nil {
		found.Figures = openFigures(got[0], got[1], redisCounter)
	}
	return found, err
}

// openFigures are the percentiles of a server and its peer, from the rounds of each.
func openFigures(a, b []pace.Result, peer string) (figures []report.Figure) {
	for _, q := range []struct {
		what  string
		of    func(pace.Spread) time.Duration
		ahead bool          // at most the peer's is the target
		limit time.Duration // 0: none
	}{
		{"p50", func(s pace.Spread) time.Duration { return s.P50 }, false, 0},
		{"p99", func(s pace.Spread) time.Duration { return s.P99 }, true, 500 * time.Microsecond},
		{"p99.9", func(s pace.Spread) time.Duration { return s.P999 }, true, time.Millisecond},
		{"p99.99", func(s pace.Spread) time.Duration { return s.P9999 }, true, 0},
	} {
		latency := func(r pace.Result) float64 { return q.of(r.Latency).Seconds() }
		lateness := func(r pace.Result) float64 { return q.of(r.Late).Seconds() }
		f := report.Figure{
			Group: openLoop, What: q.what, Unit: report.Seconds, Ours: column(a, latency), Peer: peer, Theirs: column(b, latency),
			Note: fmt.Sprintf("generator late by %s, %s", report.Format(report.Seconds, report.Median(column(a, lateness))), report.Format(report.Seconds, report.Median(column(b, lateness)))),
		}
		if q.ahead {
			f = f.RatioAtMost(1)
		}
		figures = append(figures, f)
		if q.limit > 0 {
			figures = append(figures, report.Figure{
				Group: openLoop, What: q.what + ", by itself", Unit: report.Seconds, Ours: f.Ours,
			}.AtMost(q.limit.Seconds()))
		}
	}
	return figures
}

const selfPace = "pace"

// servePace is the open-loop generator in a process of its own. It reports a pace.Result at its end.
func servePace(ctx context.Context, l pace.Load, report *json.Encoder) error {
	r, err := pace.Run(ctx, l)
	if err != nil {
		return err
	}
	return report.Encode(r)
}

// runPace runs a load to its end. Requests that got nothing are an error: there would be no figure
// for them.
func runPace(ctx context.Context, l pace.Load) (r pace.Result, err error) {
	if err := outcomeOf(ctx, selfPace, l, &r); err != nil {
		return r, err
	}
	if r.Refused > 0 {
		return r, fmt.Errorf("of %d requests %d were refused", r.Sent, r.Refused)
	}
	return r, nil
}
