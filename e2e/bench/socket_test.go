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

	"github.com/flakeward/flakeward/e2e/bench/redisbench"
	"github.com/flakeward/flakeward/e2e/bench/report"
	"github.com/flakeward/flakeward/e2e/load"
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

// Each shape has its row in every table, in the order of the shapes.
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
		costGroup:    {report.Met, report.NotMet},
		waitGroup:    {none, none, none, none},
	} {
		if !slices.Equal(verdicts[group], want) {
			t.Errorf("%s: %q, want %q", group, verdicts[group], want)
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
		text, err := load.Ask(t.Context(), socket, (*wire.Reader).Bulk, command...)
		if err != nil {
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

// Each quantity has its row, next to the peer's.
func TestGrowthFigures(t *testing.T) {
	figures := growthFigures(10_000, []grown{{10, 1e-6, 100}, {30, 3e-6, 300}}, []grown{{20, 2e-6, 200}, {40, 4e-6, 400}})
	if len(figures) != 3 || figures[0].What != "10,000, requests" {
		t.Fatalf("%+v", figures)
	}
	for i, unit := range []float64{10, 1e-6, 100} {
		if f := figures[i]; !slices.Equal(f.Ours, []float64{unit, 3 * unit}) || !slices.Equal(f.Theirs, []float64{2 * unit, 4 * unit}) || f.Peer != redisCounter {
			t.Errorf("%+v", f)
		}
	}
}
