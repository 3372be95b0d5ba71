package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/flakeward/flakeward/e2e/bench/pace"
	"github.com/flakeward/flakeward/e2e/bench/redisbench"
	"github.com/flakeward/flakeward/e2e/bench/report"
	"github.com/flakeward/flakeward/e2e/bench/rounds"
)

// openLoad is the load that Leaf publishes a figure for: 50,000 requests a second.
var openLoad = pace.Load{Rate: 50000, Connections: 50, Warm: 500 * time.Millisecond, Spin: pace.DefaultSpin}

// openPart is the load at one priority, which the generator and both servers have.
type openPart struct {
	group    string
	realTime bool
}

// openParts are measured one after the other, each on servers of its own. At the usual priority
// whatever else runs on the machine delays generator and servers, by milliseconds in one request of
// a thousand; under real-time priority it does not, and the servers are compared.
var openParts = []openPart{
	{group: openLoop + ", usual priority"},
	{group: openLoop + ", real-time priority", realTime: true},
}

const openLoop = "Open loop, 50,000 requests/s over 50 connections"

// measureOpen has requests sent at their times whatever is answered, to the daemon and to Redis in
// turn.
func measureOpen(ctx context.Context, s setting) (found report.Findings, err error) {
	found.Version("Redis", says(ctx, redisbench.Server, "--version"))
	for _, part := range openParts {
		got, err := part.measure(ctx, s)
		if part.realTime && refused(err) {
			found.Figures = append(found.Figures, part.absent(err))
			continue
		}
		if err != nil {
			return found, err
		}
		found.Figures = append(found.Figures, part.figures(got[0], got[1], redisCounter)...)
	}
	return found, nil
}

// absent stands for the figures of a part that may not be measured.
func (p openPart) absent(err error) report.Figure {
	return report.Figure{Group: p.group, What: "everything", Absent: "not measured: " + err.Error()}
}

// measure starts both servers and measures them in turn.
func (p openPart) measure(ctx context.Context, s setting) ([][]pace.Result, error) {
	suffix := "" // of the servers' directories
	if p.realTime {
		suffix = "-rt"
	}
	var contestants []rounds.Contestant[pace.Result]
	for _, of := range []peer{ours, redis} {
		server, socket, err := of.start(ctx, s, filepath.Join(s.dir, of.name+suffix))
		if err != nil {
			return nil, err
		}
		defer server.Kill()
		if p.realTime {
			if err := realTime(server.PID()); err != nil {
				return nil, atFault(server, err)
			}
		}
		round := uint64(0)
		contestants = append(contestants, rounds.Contestant[pace.Result]{Name: of.name, Measure: func(ctx context.Context) (pace.Result, error) {
			l := paced{Load: openLoad, RealTime: p.realTime}
			round++ // both get the same schedule in a round, and another one in the next
			l.Socket, l.Request, l.Length, l.Seed = socket, of.command, s.length(3500*time.Millisecond), round
			r, err := runPace(ctx, l)
			return r, atFault(server, err)
		}})
	}
	return rounds.Interleave(ctx, s.rounds(fullRounds, 2), contestants...)
}

// figures are the percentiles of a server and its peer, from the rounds of each.
func (p openPart) figures(a, b []pace.Result, peer string) (figures []report.Figure) {
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
			Group: p.group, What: q.what, Unit: report.Seconds, Ours: rounds.Column(a, latency), Peer: peer, Theirs: rounds.Column(b, latency),
			Note: fmt.Sprintf("generator late by %s, %s", report.Format(report.Seconds, report.Median(rounds.Column(a, lateness))), report.Format(report.Seconds, report.Median(rounds.Column(b, lateness)))),
		}
		if q.ahead {
			f = f.RatioAtMost(1)
		}
		figures = append(figures, f)
		if q.limit > 0 {
			figures = append(figures, report.Figure{
				Group: p.group, What: q.what + ", by itself", Unit: report.Seconds, Ours: f.Ours,
			}.AtMost(q.limit.Seconds()))
		}
	}
	return figures
}
