package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flakeward/flakeward/e2e/bench/report"
	"github.com/flakeward/flakeward/internal/process"
)

const (
	goClientGroup = "Go client"
	// ceiling is how many IDs a second the default layout has: 12 bits of sequence in each
	// millisecond.
	ceiling = 4096 * 1000
	// roomyLayout has 2,097,152 IDs in each millisecond: more than one machine takes.
	roomyLayout = "time=38@1ms,worker=4,sequence=21;epoch=2026-01-01"
	// What the client's benchmarks are told a daemon's socket by.
	roomySocket   = "FLAKEWARD_BENCH_ROOMY"
	defaultSocket = "FLAKEWARD_BENCH_DEFAULT"
)

// measureGoClient runs the benchmarks of the Go client against daemons in processes of their own.
func measureGoClient(ctx context.Context, s setting) (found report.Findings, err error) {
	env := os.Environ()
	for _, of := range []struct{ dir, variable, layout string }{{"roomy", roomySocket, roomyLayout}, {"default", defaultSocket, "flakeward"}} {
		h, err := newHost(s.binary, filepath.Join(s.dir, of.dir), "--layout", of.layout)
		if err != nil {
			return found, err
		}
		d, _, err := start(ctx, h)
		if err != nil {
			return found, err
		}
		defer d.Kill()
		env = append(env, of.variable+"="+h.Socket)
	}
	// Not by go test itself: of that, only the parent would end with ctx.
	program := filepath.Join(s.dir, "bench.test")
	if out, err := exec.CommandContext(ctx, "go", "test", "-c", "-o", program, process.Package+"/client").CombinedOutput(); err != nil {
		return found, fmt.Errorf("cannot build the tests of the client: %w\n%s", err, out)
	}
	measured := make(values)
	for range s.rounds(fullRounds, 2) {
		command := exec.CommandContext(ctx, program, "-test.run=^$", "-test.bench=^(BenchmarkNext|BenchmarkNextParallel|BenchmarkNextAtTheCeiling|BenchmarkTake1000)$",
			"-test.benchtime="+s.length(time.Second).String())
		command.Dir, command.Env, command.SysProcAttr = s.dir, env, process.Orphanless()
		out, err := command.CombinedOutput()
		if err != nil {
			return found, fmt.Errorf("the client's benchmarks: %w\n%s", err, out)
		}
		measured.read(string(out))
	}
	found.Figures, err = goClientFigures(measured)
	return found, err
}

// values are what benchmarks measured, by the benchmark's name and the unit, as in "BenchmarkNext
// ns/op".
type values map[string][]float64

// read reads the output of go test -bench: lines of a name, a count of iterations and pairs of a
// value and its unit. Other lines are passed over.
func (v values) read(out string) {
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name, _, _ := strings.Cut(fields[0], "-") // the number of processors
		for pair := range slices.Chunk(fields[2:], 2) {
			if value, err := strconv.ParseFloat(pair[0], 64); err == nil && len(pair) == 2 {
				v[name+" "+pair[1]] = append(v[name+" "+pair[1]], value)
			}
		}
	}
}

// goClientFigures are read off the benchmarks' values.
func goClientFigures(measured values) (figures []report.Figure, err error) {
	for _, f := range []struct {
		what, benchmark string
		unit            report.Unit
		limit           float64 // -1: none
		note            string
	}{
		{"Next, layout with room, an ID", "BenchmarkNext ns/op", report.Seconds, 15e-9, "one goroutine"},
		{"Next, layout with room, goroutines on all processors, an ID", "BenchmarkNextParallel ns/op", report.Seconds, -1, "time an ID, all of them together"},
		{"Next, default layout, an ID", "BenchmarkNextAtTheCeiling ns/op", report.Seconds, 1. / ceiling / equal, "at the ceiling: 4,096 in each millisecond are one in 244 ns"},
		{"Take of 1,000, layout with room, an ID", "BenchmarkTake1000 ns/ID", report.Seconds, -1, "one goroutine"},
		{"allocations of a call to Next", "BenchmarkNext allocs/op", report.Number, 0, "one goroutine"},
		{"the same, goroutines on all processors", "BenchmarkNextParallel allocs/op", report.Number, 0, ""},
		{"the same, default layout", "BenchmarkNextAtTheCeiling allocs/op", report.Number, 0, ""},
	} {
		figure := report.Figure{Group: goClientGroup, What: f.what, Unit: f.unit, Note: f.note}
		if len(measured[f.benchmark]) == 0 {
			return nil, fmt.Errorf("%s was not measured: has the benchmark another name by now?", f.benchmark)
		}
		for _, v := range measured[f.benchmark] {
			if f.unit == report.Seconds {
				v *= 1e-9
			}
			figure.Ours = append(figure.Ours, v)
		}
		switch {
		case f.unit == report.Number:
			figure = figure.EachAtMost(f.limit)
		case f.limit > 0:
			figure = figure.AtMost(f.limit)
		}
		figures = append(figures, figure)
	}
	return figures, nil
}
