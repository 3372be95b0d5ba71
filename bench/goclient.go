package main

import (
	"context"
	"path/filepath"
	"time"

	"github.com/flakeward/flakeward/bench/gobench"
	"github.com/flakeward/flakeward/bench/report"
	"github.com/flakeward/flakeward/internal/process"
)

const (
	goClientGroup = "Go client"
	// roomyLayout has 2,097,152 IDs in each millisecond: more than one machine takes.
	roomyLayout = "time=38@1ms,worker=4,sequence=21;epoch=2026-01-01"
	// What the client's benchmarks are told a daemon's socket by.
	roomySocket   = "FLAKEWARD_BENCH_ROOMY"
	defaultSocket = "FLAKEWARD_BENCH_DEFAULT"
)

// measureGoClient runs the benchmarks of the Go client against daemons in processes of their own.
func measureGoClient(ctx context.Context, s setting) (found report.Findings, err error) {
	var env []string
	for _, of := range []struct{ dir, variable, layout string }{{"roomy", roomySocket, roomyLayout}, {"default", defaultSocket, "flakeward"}} {
		h, err := newHost(s.binary, filepath.Join(s.dir, of.dir), "--layout", of.layout)
		if err != nil {
			return found, err
		}
		d, _, err := h.start(ctx)
		if err != nil {
			return found, err
		}
		defer d.Kill()
		env = append(env, of.variable+"="+h.socket)
	}
	r, err := gobench.Run{
		Dir:     s.dir,
		Package: process.Package + "/client",
		Pattern: "^(BenchmarkNext|BenchmarkNextParallel|BenchmarkNextAtTheCeiling|BenchmarkTake1000)$",
		Count:   s.rounds(fullRounds, 2),
		For:     s.length(time.Second),
		Env:     env,
	}.Do(ctx)
	if err != nil {
		return found, err
	}
	found.Figures, err = goClientFigures(r)
	return found, err
}

// goClientFigures are read off the benchmarks' results.
func goClientFigures(r gobench.Results) (figures []report.Figure, err error) {
	for _, f := range []struct {
		what, benchmark, unit string
		limit                 float64 // seconds; 0: none
		note                  string
	}{
		{"Next, layout with room", "BenchmarkNext", "ns/op", 15e-9, "one goroutine"},
		{"Next, layout with room, goroutines on all processors", "BenchmarkNextParallel", "ns/op", 0, "time an ID, all of them together"},
		{"Next, default layout", "BenchmarkNextAtTheCeiling", "ns/op", 1. / ceiling / equal, "at the ceiling: 4,096 in each millisecond are one in 244 ns"},
		{"Take of 1,000, layout with room", "BenchmarkTake1000", "ns/ID", 0, "one goroutine"},
	} {
		ns, err := r.Values(f.benchmark, f.unit)
		if err != nil {
			return nil, err
		}
		figure := report.Figure{Group: goClientGroup, What: f.what + ", an ID", Unit: report.Seconds, Note: f.note}
		for _, v := range ns {
			figure.Ours = append(figure.Ours, v*1e-9)
		}
		if f.limit > 0 {
			figure = figure.AtMost(f.limit)
		}
		figures = append(figures, figure)
	}
	most, err := r.Most("allocs/op", "BenchmarkNext", "BenchmarkNextParallel", "BenchmarkNextAtTheCeiling")
	if err != nil {
		return nil, err
	}
	allocations := report.Figure{Group: goClientGroup, What: "allocations of a call to Next", Unit: report.Number, Ours: most, Note: "the most of its three benchmarks"}
	return append(figures, allocations.EachAtMost(0)), nil
}
