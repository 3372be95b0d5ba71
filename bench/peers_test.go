package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/bench/expand"
	"github.com/flakeward/flakeward/bench/gobench"
	"github.com/flakeward/flakeward/bench/inprocess"
	"github.com/flakeward/flakeward/bench/pace"
	"github.com/flakeward/flakeward/bench/report"
	"github.com/flakeward/flakeward/internal/wire"
)

// spreadOf is a spread with all its values at one duration.
func spreadOf(d time.Duration) pace.Spread {
	return pace.Spread{Count: 1000, P50: d, P90: d, P99: d, P999: d, P9999: d, Max: d, Curve: []pace.Point{{Share: 0, At: d}, {Share: 0.9, At: d}}}
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

// The parts of the open loop have a table and a plot each. One that may not be measured is on the
// page with the reason, as not run.
func TestOpenParts(t *testing.T) {
	usual, realTime := openParts[0], openParts[1]
	if usual.realTime || !realTime.realTime || usual.group == realTime.group || usual.plot == realTime.plot {
		t.Fatalf("%+v", openParts)
	}
	f := realTime.absent(errors.New("it may not"))
	r := report.Results{Sections: []report.Section{{Name: "open", Findings: report.Findings{
		Figures: append(usual.figures([]pace.Result{{Latency: spreadOf(1)}}, []pace.Result{{Latency: spreadOf(1)}}, "peer"), f),
		Plots:   []report.Plot{usual.draw([]pace.Result{{Latency: spreadOf(1)}}, nil, "peer")},
	}}}}
	text := string(r.Markdown("dir"))
	for _, word := range []string{"\n## " + usual.group + "\n", "dir/" + usual.plot + ".svg", "\n## " + realTime.group + "\n", "| everything | not measured: it may not | not run |", "1 figures not run"} {
		if !strings.Contains(text, word) {
			t.Errorf("the page lacks %q:\n%s", word, text)
		}
	}
}

// A curve goes as far as each round's does, and is their median.
func TestCurve(t *testing.T) {
	round := func(at ...time.Duration) pace.Result {
		var r pace.Result
		for i, d := range at {
			r.Latency.Curve = append(r.Latency.Curve, pace.Point{Share: 1 - math.Pow(10, -float64(i)), At: d})
		}
		return r
	}
	latency := func(r pace.Result) pace.Spread { return r.Latency }
	line := curve("x", []pace.Result{round(time.Second, 3*time.Second, 9*time.Second), round(2*time.Second, 5*time.Second), round(0, 4*time.Second)}, latency)
	if !slices.Equal(line.Y, []float64{1, 4}) || len(line.X) != 2 || math.Abs(line.X[0]-1) > 1e-9 || math.Abs(line.X[1]-10) > 1e-9 {
		t.Errorf("%+v", line)
	}
	if line := curve("x", nil, latency); len(line.X) != 0 {
		t.Errorf("nothing is %+v", line)
	}
	if line := curve("x", []pace.Result{round(0)}, latency); line.Y[0] <= 0 {
		t.Errorf("%v cannot be drawn on a logarithmic axis", line.Y)
	}
}

func TestRollbackFigures(t *testing.T) {
	run := func(before, during int64, p999 ...time.Duration) pace.Result {
		return pace.Result{Phases: []pace.Phase{
			{To: time.Second, IDs: before, Latency: spreadOf(p999[0])},
			{From: time.Second, To: 3 * time.Second, IDs: during, Latency: spreadOf(p999[1])},
			{From: 3 * time.Second, To: 4 * time.Second},
		}}
	}
	for _, c := range []struct {
		name        string
		run         pace.Result
		kept, added report.Verdict
	}{
		{"as before", run(1000, 2000, time.Millisecond, time.Millisecond), report.Met, report.Met},
		{"95%, and 2 ms", run(1000, 1900, time.Millisecond, 3*time.Millisecond), report.Met, report.Met},
		{"less", run(1000, 1898, time.Millisecond, time.Millisecond), report.NotMet, report.Met},
		{"later", run(1000, 2000, time.Millisecond, 3100*time.Microsecond), report.Met, report.NotMet},
		{"sooner", run(1000, 2000, 3*time.Millisecond, time.Millisecond), report.Met, report.Met},
	} {
		figures, err := rollbackFigures([]pace.Result{c.run})
		if err != nil {
			t.Fatal(err)
		}
		kept, added := find(t, figures, "throughput while the clock is behind, of before"), find(t, figures, "p99.9 added meanwhile")
		if kept.Verdict() != c.kept || added.Verdict() != c.added || added.Ours[0] < 0 {
			t.Errorf("%s: %v %s, %v %s", c.name, kept.Ours, kept.Verdict(), added.Ours, added.Verdict())
		}
	}
	for _, r := range []pace.Result{{}, run(0, 0, 0, 0)} {
		if figures, err := rollbackFigures([]pace.Result{r}); err == nil {
			t.Errorf("%+v gave %+v", r, figures)
		}
	}
	if err := rollbackLoad.Check(); err == nil {
		t.Error("the load has a socket before there is a daemon")
	}
	l := rollbackLoad
	l.Socket, l.Phases = "s", []time.Duration{rollbackBefore, rollbackBefore + rollback}
	if err := l.Check(); err != nil || l.Rate*100 != 1e6 {
		t.Errorf("%v IDs/s: %v", l.Rate*100, err)
	}
}

// Each pair is of generators that there are; where a target is set, theirs has ordered 64-bit IDs
// and the same room in a tick.
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
		if (p.atLeast > 0) != b.Ordered64 || p.atLeast > 0 && a.Ceiling != b.Ceiling {
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
	r := gobench.Results{}
	for _, name := range []string{"BenchmarkNext", "BenchmarkNextParallel", "BenchmarkNextAtTheCeiling", "BenchmarkTake1000"} {
		r[name] = map[string][]float64{"ns/op": {14}, "ns/ID": {1}, "allocs/op": {0}}
	}
	figures, err := goClientFigures(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range figures {
		if f.Target != nil && f.Verdict() != report.Met {
			t.Errorf("%s: %v %s", f.What, f.Ours, f.Verdict())
		}
	}
	r["BenchmarkNext"]["ns/op"] = []float64{15.1}
	r["BenchmarkNextParallel"]["allocs/op"] = []float64{1}
	if figures, err = goClientFigures(r); err != nil || figures[0].Verdict() != report.NotMet || figures[len(figures)-1].Verdict() != report.NotMet {
		t.Errorf("%v: %+v", err, figures)
	}
	delete(r, "BenchmarkTake1000")
	if figures, err := goClientFigures(r); err == nil {
		t.Errorf("without a benchmark: %+v", figures)
	}
}

// An expander sets every ID of every reply, asks as often as it was answered, and counts for its
// rate only what came in its time.
func TestEater(t *testing.T) {
	client, daemon := net.Pipe()
	if err := daemon.SetDeadline(time.Now().Add(time.Minute)); err != nil { // ends a test that goes wrong
		t.Fatal(err)
	}
	a := expandLoad{Count: 7, Window: 2, Length: 0}
	request := wire.AppendCommand(nil, "RUN", "7")
	served := make(chan int, 1)
	go func() {
		n := 0
		defer func() { served <- n }()
		buffer := make([]byte, len(request))
		for {
			if _, err := io.ReadFull(daemon, buffer); err != nil || !bytes.Equal(buffer, request) {
				return
			}
			if n++; n == 1 { // both requests are under way before the first reply
				continue
			}
			if _, err := io.WriteString(daemon, "*5\r\n:1\r\n:100\r\n:5\r\n:300\r\n:2\r\n"); err != nil {
				return
			}
		}
	}()
	e := newExpander(client, a)
	if err := e.begin(); err != nil {
		t.Fatal(err)
	}
	if e.ids.Count() != 7 || e.ids.Duplicates() != 0 {
		t.Errorf("%d IDs, %d duplicates", e.ids.Count(), e.ids.Duplicates())
	}
	if err := e.eat(time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if e.ids.Count() != 14 || e.ids.Duplicates() != 7 || e.got.IDs != 0 {
		t.Errorf("the same reply again: %d IDs, %d duplicates, %d in time", e.ids.Count(), e.ids.Duplicates(), e.got.IDs)
	}
	client.Close()
	if n := <-served; n != 4 {
		t.Errorf("asked %d times, want 4: two to begin with and one for each reply", n)
	}
}

func TestEaterRefusesWhatIsNoRun(t *testing.T) {
	for _, reply := range []string{"-UNAVAILABLE no\r\n", "*2\r\n:1\r\n:100\r\n", "*0\r\n", "*3\r\n:1\r\n:-5\r\n:2\r\n"} {
		client, daemon := net.Pipe()
		go func() {
			_, _ = io.CopyN(io.Discard, daemon, int64(len(wire.AppendCommand(nil, "RUN", "7"))))
			_, _ = io.WriteString(daemon, reply)
			_ = daemon.Close()
		}()
		if err := newExpander(client, expandLoad{Count: 7, Window: 1}).begin(); err == nil {
			t.Errorf("%q is taken", reply)
		}
		client.Close()
	}
}

// What two clients wrote is put together, and an ID that both have is found.
func TestTogether(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, first, n int64) {
		s := expand.NewSet()
		if err := s.AddRun(first, 1, n); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := writeSet(filepath.Join(dir, name), s); err != nil {
			t.Fatal(err)
		}
	}
	write("a/0", 0, 5000)
	write("a/1", 5000, 5000)
	write("b/0", 10000, 5000)
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if all, err := together(a, b); err != nil || all.Count() != 15000 || all.Duplicates() != 0 {
		t.Errorf("%+v, %v", all.Count(), err)
	}
	write("b/1", 9999, 1)
	if all, err := together(a, b); err != nil || all.Count() != 15001 || all.Duplicates() != 1 {
		t.Errorf("%d IDs, %d duplicates, %v; want 15001 and 1", all.Count(), all.Duplicates(), err)
	}
	if err := os.WriteFile(filepath.Join(a, "2"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := together(a, b); err == nil || !strings.Contains(err.Error(), "a/2") {
		t.Errorf("a file that is none: %v", err)
	}
}

func TestDuplicatesAreMissed(t *testing.T) {
	if f := duplicates("x", []expandResult{{all: 5}, {all: 5}}); f.Verdict() != report.Met {
		t.Errorf("none: %s", f.Verdict())
	}
	if f := duplicates("x", []expandResult{{all: 5}, {all: 5, duplicates: 1}, {all: 5}}); f.Verdict() != report.NotMet {
		t.Errorf("one in one round: %s", f.Verdict())
	}
}

// What is told to this program in another process says what is wrong with it.
func TestSelvesRefuse(t *testing.T) {
	for name, words := range map[string][][]string{
		selfPace:     {nil, {"{"}, {"{}"}, {"{}", "{}"}},
		selfExpand:   {nil, {"{"}},
		selfCount:    {nil, {`{"Clients":"many"}`}, {`{"Length":"long"}`}},
		selfGenerate: {nil, {`{"Name":"none"}`}, {`{"Name":"rs/xid","Goroutines":"many"}`}},
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
	if err := outcomeOf(t.Context(), selfGenerate, generating{"rs/xid", 2, 5 * time.Millisecond}, &r); err != nil || r.IDs == 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if err := outcomeOf(t.Context(), selfGenerate, generating{Name: "none"}, &r); err == nil || !strings.Contains(err.Error(), `no generator "none"`) {
		t.Errorf("%v", err)
	}
}

func TestPublishedIsNotMeasured(t *testing.T) {
	found, err := quotePublished(t.Context(), setting{})
	if err != nil || len(found.Figures) != len(published) {
		t.Fatal(len(found.Figures), err)
	}
	for _, f := range found.Figures {
		if f.Target != nil || len(f.Ours) > 0 || f.Peer == "" || len(f.Theirs) != 1 || !(f.Theirs[0] > 0) || f.Note == "" || f.Verdict() != report.NoTarget {
			t.Errorf("%+v", f)
		}
	}
}
