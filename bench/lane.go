package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/flakeward/flakeward/bench/gobench"
	"github.com/flakeward/flakeward/bench/report"
	"github.com/flakeward/flakeward/bench/rounds"
	"github.com/flakeward/flakeward/bench/stat"
	"github.com/flakeward/flakeward/internal/process"
)

// measureLane runs the generator's own benchmarks.
func measureLane(ctx context.Context, s setting) (found report.Findings, err error) {
	r, err := gobench.Run{
		Dir:     s.dir,
		Package: process.Package + "/generator",
		Pattern: "^(BenchmarkTimeNow|BenchmarkTakeWithClock|BenchmarkTake|BenchmarkTakeRun|BenchmarkCeiling)$",
		Count:   s.rounds(fullRounds, 2),
		For:     s.length(time.Second),
	}.Do(ctx)
	if err != nil {
		return found, err
	}
	for _, one := range []func(gobench.Results) (report.Figure, error){oneGoroutine, manyGoroutines, allocationFigure, clockFigure} {
		f, err := one(r)
		if err != nil {
			return found, err
		}
		f.Group = "Lane"
		found.Figures = append(found.Figures, f)
	}
	return found, nil
}

func oneGoroutine(r gobench.Results) (report.Figure, error) {
	return ceilingFigure(r, "of the layout's ceiling, one goroutine", "BenchmarkCeiling/goroutines=1")
}

func manyGoroutines(r gobench.Results) (report.Figure, error) {
	return ceilingFigure(r, "of the layout's ceiling, 8 goroutines", "BenchmarkCeiling/goroutines=8")
}

func ceilingFigure(r gobench.Results, what, benchmark string) (report.Figure, error) {
	share, err := r.Values(benchmark, "%ofceiling")
	if err != nil {
		return report.Figure{}, err
	}
	rate, err := r.Values(benchmark, "IDs/s")
	if err != nil {
		return report.Figure{}, err
	}
	for i := range share {
		share[i] /= 100
	}
	return report.Figure{
		What: what, Unit: report.Share, Ours: share,
		Note: fmt.Sprintf("%s of %s; layout 41/10/12", report.Format(report.Rate, stat.Median(rate)), report.Format(report.Rate, ceiling)),
	}.AtLeast(0.99), nil
}

func allocationFigure(r gobench.Results) (report.Figure, error) {
	most, err := r.Most("allocs/op", slices.Collect(maps.Keys(r))...)
	if err != nil {
		return report.Figure{}, err
	}
	return report.Figure{
		What: "allocations of a request", Ours: most, Note: fmt.Sprintf("the most of %d benchmarks", len(r)),
	}.EachAtMost(0), nil
}

func clockFigure(r gobench.Results) (report.Figure, error) {
	take, err := r.Values("BenchmarkTakeWithClock", "ns/op")
	if err != nil {
		return report.Figure{}, err
	}
	now, err := r.Values("BenchmarkTimeNow", "ns/op")
	if err != nil {
		return report.Figure{}, err
	}
	seconds := func(ns float64) float64 { return ns * 1e-9 }
	return report.Figure{
		What: "Take with the clock", Unit: report.Seconds, Ours: rounds.Column(take, seconds),
		Peer: "time.Now", Theirs: rounds.Column(now, seconds), Note: "20 bits of sequence, uncontended",
	}.RatioAtMost(1.3), nil
}
