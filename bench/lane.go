package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/flakeward/flakeward/bench/gobench"
	"github.com/flakeward/flakeward/bench/stat"
)

// measureLane runs the generator's own benchmarks.
func measureLane(ctx context.Context, s setting) ([]figure, error) {
	length := time.Second
	if s.short {
		length = 200 * time.Millisecond
	}
	r, err := gobench.Run{
		Dir:     s.dir,
		Package: daemonPackage + "/generator",
		Pattern: "^(BenchmarkTimeNow|BenchmarkTakeWithClock|BenchmarkTake|BenchmarkTakeRun|BenchmarkCeiling)$",
		Count:   s.rounds(5, 2),
		For:     length,
	}.Do(ctx)
	if err != nil {
		return nil, err
	}
	var figures []figure
	for _, c := range []struct{ what, benchmark string }{
		{"lane, one goroutine", "BenchmarkCeiling/goroutines=1"},
		{"lane, 8 goroutines", "BenchmarkCeiling/goroutines=8"},
	} {
		f, err := ceilingFigure(r, c.what, c.benchmark)
		if err != nil {
			return figures, err
		}
		figures = append(figures, f)
	}
	for _, more := range []func(gobench.Results) (figure, error){allocationFigure, clockFigure} {
		f, err := more(r)
		if err != nil {
			return figures, err
		}
		figures = append(figures, f)
	}
	return figures, nil
}

func ceilingFigure(r gobench.Results, what, benchmark string) (figure, error) {
	share, err := r.Values(benchmark, "%ofceiling")
	if err != nil {
		return figure{}, err
	}
	rate, err := r.Values(benchmark, "IDs/s")
	if err != nil {
		return figure{}, err
	}
	return figure{
		what: what,
		got:  fmt.Sprintf("%.2f%%", stat.Median(share)),
		more: fmt.Sprintf("%s of %s IDs/s, at least %.2f%%; layout 41/10/12", thousands(stat.Median(rate)), thousands(ceiling), slices.Min(share)),
	}.atLeast(stat.Median(share), 99, "99%"), nil
}

func allocationFigure(r gobench.Results) (figure, error) {
	most, seen := 0.0, 0
	for benchmark := range r {
		allocations, err := r.Values(benchmark, "allocs/op")
		if err != nil {
			return figure{}, err
		}
		most = max(most, slices.Max(allocations))
		seen++
	}
	return figure{
		what: "lane, allocations",
		got:  fmt.Sprintf("%.0f", most),
		more: fmt.Sprintf("a request, the most of %d benchmarks", seen),
	}.atMost(most, 0, "0"), nil
}

func clockFigure(r gobench.Results) (figure, error) {
	take, err := r.Values("BenchmarkTakeWithClock", "ns/op")
	if err != nil {
		return figure{}, err
	}
	now, err := r.Values("BenchmarkTimeNow", "ns/op")
	if err != nil {
		return figure{}, err
	}
	ratio, err := stat.Ratios(take, now)
	if err != nil {
		return figure{}, err
	}
	return figure{
		what: "lane, Take with the clock",
		got:  fmt.Sprintf("%.2f of time.Now (%.2f to %.2f)", ratio.Median, ratio.Min, ratio.Max),
		more: fmt.Sprintf("%.1f ns and %.1f ns; 20 bits of sequence, uncontended", stat.Median(take), stat.Median(now)),
	}.atMost(ratio.Median, 1.3, "1.3"), nil
}
