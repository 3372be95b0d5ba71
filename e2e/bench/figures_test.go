package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/e2e/bench/inprocess"
	"github.com/flakeward/flakeward/e2e/bench/pace"
	"github.com/flakeward/flakeward/e2e/bench/report"
)

// spreadOf is a spread with all its values at one duration.
func spreadOf(d time.Duration) pace.Spread {
	return pace.Spread{Count: 1000, P50: d, P99: d, P999: d, P9999: d, Max: d}
}

// find is the figure of that name.
func find(t *testing.T, figures []report.Figure, what string) report.Figure {
	t.Helper()
	i := slices.IndexFunc(figures, func(f report.Figure) bool { return f.What == what })
	if i < 0 {
		t.Fatalf("there is no figure %q", what)
	}
	return figures[i]
}

// Each target of the open loop is missed by what is just above it, and met by what is at it: by
// itself, and next to the peer.
func TestOpenFigures(t *testing.T) {
	for _, part := range openParts {
		for _, c := range []struct {
			what, bounded string
			limit         time.Duration
		}{{"p99", "p99, by itself", 500 * time.Microsecond}, {"p99.9", "p99.9, by itself", time.Millisecond}, {"p99.99", "", 3 * time.Millisecond}} {
			for _, d := range []time.Duration{c.limit, c.limit + time.Microsecond} {
				ours, theirs := []pace.Result{{Latency: spreadOf(d)}}, []pace.Result{{Latency: spreadOf(c.limit)}}
				figures := part.figures(ours, theirs, "peer")
				want := report.Met
				if d > c.limit {
					want = report.NotMet
				}
				if c.bounded != "" {
					if got := find(t, figures, c.bounded); got.Verdict() != want || got.Group != part.group {
						t.Errorf("%s of %v: %s, in %q", c.bounded, d, got.Verdict(), got.Group)
					}
				}
				if got := find(t, figures, c.what); got.Verdict() != want || got.Group != part.group {
					t.Errorf("%s of %v next to %v: %s, in %q", c.what, d, c.limit, got.Verdict(), got.Group)
				}
			}
		}
	}
}

// Each pair is of generators that there are, and that have the same room in a tick.
func TestPairs(t *testing.T) {
	got := map[string][]inprocess.Result{}
	for _, g := range inprocess.Generators {
		got[g.Name] = []inprocess.Result{{IDs: 1000, Took: time.Second, CPU: time.Second}}
	}
	for _, p := range pairs {
		a, err := inprocess.Find(p.ours)
		if err != nil || a.Module != "" {
			t.Errorf("%q is not ours: %v", p.ours, err)
		}
		b, err := inprocess.Find(p.theirs)
		if err != nil || b.Module == "" {
			t.Errorf("%q is not theirs: %v", p.theirs, err)
		}
		if a.Ceiling != b.Ceiling {
			t.Errorf("%s and %s cannot be compared at %v times", p.ours, p.theirs, p.atLeast)
		}
	}
	for _, f := range processFigures(got, 2) {
		if f.Target != nil && f.Verdict() != report.Met {
			t.Errorf("%s: two that are equal: %s", f.What, f.Verdict())
		}
	}
	got["flakeward, room"][0].IDs = 999
	missed := 0
	for _, f := range processFigures(got, 2) {
		if f.Verdict() == report.NotMet {
			missed++
		}
	}
	if missed != 2 {
		t.Errorf("ours is behind both that it is to be ahead of, and %d targets are missed", missed)
	}
}

func TestGoClientFigures(t *testing.T) {
	const out = "goos: linux\nBenchmarkNext-2 \t 100 \t 14 ns/op \t 0 B/op \t 0 allocs/op\nBenchmarkNextParallel 100 9 ns/op 0 allocs/op\n" +
		"BenchmarkNextAtTheCeiling-2 100 240 ns/op 0 allocs/op\nBenchmarkTake1000-2 100 900 ns/op 1 ns/ID\nPASS\n"
	r := make(values)
	r.read(out)
	r.read(out)
	figures, err := goClientFigures(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range figures {
		if len(f.Ours) != 2 || f.Target != nil && f.Verdict() != report.Met {
			t.Errorf("%s: %v %s", f.What, f.Ours, f.Verdict())
		}
	}
	r["BenchmarkNext ns/op"] = []float64{15.1}
	r["BenchmarkNextAtTheCeiling allocs/op"] = []float64{0, 1}
	if figures, err = goClientFigures(r); err != nil || figures[0].Verdict() != report.NotMet || figures[len(figures)-1].Verdict() != report.NotMet {
		t.Errorf("%v: %+v", err, figures)
	}
	delete(r, "BenchmarkTake1000 ns/ID")
	if figures, err := goClientFigures(r); err == nil {
		t.Errorf("without a benchmark: %+v", figures)
	}
}

// What is told to this program in another process says what is wrong with it.
func TestSelvesRefuse(t *testing.T) {
	for name, words := range map[string][][]string{
		selfPace:     {nil, {"{"}, {"{}", "{}"}},
		selfHold:     {nil, {`{"Connections":"many"}`}},
		selfGenerate: {nil, {`{"Name":"none"}`}, {`{"Name":"sonyflake, room","Goroutines":"many"}`}},
	} {
		for _, args := range words {
			var out bytes.Buffer
			if err := selves[name](t.Context(), args, json.NewEncoder(&out)); err == nil || out.Len() > 0 {
				t.Errorf("%s %q: %v, %s", name, args, err, out.String())
			}
		}
	}
	// In another process, too, where it says what it was told.
	var r inprocess.Result
	if err := outcomeOf(t.Context(), selfGenerate, generating{"sonyflake, room", 2, 200 * time.Millisecond}, &r); err != nil || r.IDs == 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if err := outcomeOf(t.Context(), selfGenerate, generating{Name: "none"}, &r); err == nil || !strings.Contains(err.Error(), `no generator "none"`) {
		t.Errorf("%v", err)
	}
}
