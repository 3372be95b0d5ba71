package main

import (
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/flakeward/flakeward/bench/redisbench"
	"github.com/flakeward/flakeward/bench/report"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/wire"
)

func TestAhead(t *testing.T) {
	figure := func(ours float64) report.Figure {
		return report.Figure{Ours: []float64{ours}, Theirs: []float64{100}}.RatioAtLeast(1)
	}
	for _, c := range []struct {
		ours []float64
		want float64
		met  report.Verdict
	}{
		{[]float64{110, 111, 109, 100, 300}, 3, report.Met},
		{[]float64{110, 109.9, 109, 100, 300}, 2, report.NotMet},
		{nil, 0, report.NotMet},
	} {
		var all []report.Figure
		for _, v := range c.ours {
			all = append(all, figure(v))
		}
		if got := ahead(all); got.Ours[0] != c.want || got.Verdict() != c.met {
			t.Errorf("of %v, %v are ahead: %s; want %v, %s", c.ours, got.Ours, got.Verdict(), c.want, c.met)
		}
	}
}

// Each shape has its row in every table and its bars in every plot, in the order of the shapes.
func TestSocketTables(t *testing.T) {
	samples := func(rate float64) []sample {
		one := sample{rate: rate, p50: 1 / rate, p99: 2 / rate, cpu: 3 / rate, client: 4 / rate}
		more := one
		more.rate *= 3
		return []sample{one, more}
	}
	var tables socketTables
	tables.add(shape{1, 1}, samples(100), samples(50), samples(10))
	tables.add(shape{50, 16}, samples(1000), samples(2000), samples(100))
	found := tables.findings()
	verdicts := make(map[string][]report.Verdict)
	for _, f := range found.Figures {
		verdicts[f.Group] = append(verdicts[f.Group], f.Verdict())
	}
	none := report.NoTarget
	for group, want := range map[string][]report.Verdict{
		counterGroup: {report.Met, report.NotMet, report.NotMet}, // the last: how many are clearly ahead
		scriptGroup:  {report.Met, report.Met},
		costGroup:    {report.Met, none, report.NotMet, none},
		clientGroup:  {none, none, none, none},
		waitGroup:    {none, none, none, none},
	} {
		if !slices.Equal(verdicts[group], want) {
			t.Errorf("%s: %q, want %q", group, verdicts[group], want)
		}
	}
	rates := found.Plots[0]
	if !slices.Equal(rates.X.Names, []string{"1 x 1", "50 x 16"}) || len(rates.Lines) != 3 {
		t.Fatalf("%+v", rates)
	}
	for i, want := range [][]float64{{2, 0.5}, {1, 1}, {0.2, 0.05}} {
		if !slices.Equal(rates.Lines[i].Y, want) {
			t.Errorf("%s: %v, want %v", rates.Lines[i].Name, rates.Lines[i].Y, want)
		}
	}
}

// A rate has a note on redis-benchmark's share where it misses its target and that share is the
// larger one, and nowhere else.
func TestExplained(t *testing.T) {
	theirs := []sample{{rate: 100, cpu: 9e-6, client: 6e-6}}
	for _, c := range []struct {
		name string
		ours sample
		says []string
	}{
		{"missed, most is the client's", sample{rate: 150, cpu: 5e-6, client: 6e-6}, []string{"6 µs beside 5 µs", "peer: 6 µs beside 9 µs", "0.09%"}},
		{"met", sample{rate: 200, cpu: 5e-6, client: 6e-6}, nil},
		{"missed, most is the server's", sample{rate: 150, cpu: 5e-6, client: 5e-6}, nil},
		{"missed, not known", sample{rate: 150, cpu: 5e-6}, nil},
	} {
		ours := []sample{c.ours}
		f := explained(versus("g", "w", report.Rate, ours, "peer", theirs, rateOf).RatioAtLeast(2), ours, theirs)
		if (f.Note == "") != (c.says == nil) {
			t.Errorf("%s: the note is %q", c.name, f.Note)
		}
		for _, word := range c.says {
			if !strings.Contains(f.Note, word) {
				t.Errorf("%s: the note %q lacks %q", c.name, f.Note, word)
			}
		}
	}
}

// What Redis is measured with is a fair peer: its IDs are those of the layout "redis", rise, and
// are new each time.
func TestRedisScript(t *testing.T) {
	if _, err := exec.LookPath(redisbench.Server); err != nil {
		t.Fatal(err)
	}
	server, socket, err := redis.start(t.Context(), setting{}, t.TempDir()+"/redis")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Kill()
	command, err := scripted(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	layout, err := generator.ParseLayout("redis")
	if err != nil {
		t.Fatal(err)
	}
	begun, last := time.Now(), int64(0)
	for range 3000 {
		var text string
		if err := ask(t.Context(), socket, func(in *wire.Reader) (err error) { text, err = in.Bulk(); return err }, command...); err != nil {
			t.Fatal(err)
		}
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil || id <= last {
			t.Fatalf("%s after %d: %v", text, last, err)
		}
		last = id
	}
	fields, err := layout.Decompose(last)
	if err != nil {
		t.Fatal(err)
	}
	at := layout.StartOf(fields.Tick)
	if fields.Worker != redisWorker || at.Before(begun.Truncate(time.Millisecond)) || at.After(time.Now()) {
		t.Errorf("%d has the worker ID %d and the time %v; it was made after %v", last, fields.Worker, at, begun)
	}
}

func TestReadLine(t *testing.T) {
	for text, says := range map[string]string{":1\r\n": "", ":123456789012\r\n": "", "-UNAVAILABLE no\r\n": "UNAVAILABLE no", ":1": "EOF", strings.Repeat("1", 200): "longer"} {
		for name, in := range map[string]io.Reader{"at once": strings.NewReader(text), "byte by byte": iotest.OneByteReader(strings.NewReader(text))} {
			err := readLine(in)
			if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
				t.Errorf("%q, %s: %v, want %q", text, name, err, says)
			}
		}
	}
}

// growth has a plot for each quantity, with the points of each line; what the kernel did not count
// is left out.
func TestGrowthFindings(t *testing.T) {
	g := growth{name: "lanes", title: "lanes, many", label: "lanes", points: []int{1, 2}, lines: []growthLine{{name: "RUN"}, {name: "NEXT"}}}
	found := g.findings([][]grown{
		{{10, 1e-6, 100}, {30, 3e-6, 100}, {20, 2e-6, 100}}, {{40, 4e-6, 200}},
		{{5, 0, 100}, {6, 0, 100}}, {{7, 0, 100}},
	})
	if len(found.Plots) != 3 || len(found.Figures) != 0 {
		t.Fatalf("%d plots and %d figures", len(found.Plots), len(found.Figures))
	}
	rate, cost := found.Plots[0], found.Plots[1]
	if len(rate.Lines) != 2 || !slices.Equal(rate.Lines[0].Y, []float64{20, 40}) || !slices.Equal(rate.Lines[0].Low, []float64{10, 40}) || !slices.Equal(rate.Lines[0].High, []float64{30, 40}) || !slices.Equal(rate.Lines[1].X, []float64{1, 2}) {
		t.Errorf("%+v", rate)
	}
	if len(cost.Lines) != 1 || cost.Lines[0].Name != "RUN" || rate.Name != "growth-lanes-rate" || cost.Name != "growth-lanes-cost" {
		t.Errorf("%+v", cost)
	}
}
