package report_test

import (
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/e2e/bench/report"
)

func TestVerdict(t *testing.T) {
	samples := report.Figure{Ours: []float64{1, 2, 6}, Peer: "b", Theirs: []float64{2, 2, 2}}
	for name, c := range map[string]struct {
		figure report.Figure
		want   report.Verdict
	}{
		"no target":                   {samples, report.NoTarget},
		"the median, just":            {samples.AtLeast(2), report.Met},
		"the median, not quite":       {samples.AtLeast(2.001), report.NotMet},
		"the median, at most, just":   {samples.AtMost(2), report.Met},
		"the median, at most, not":    {samples.AtMost(1.999), report.NotMet},
		"the ratio, just":             {samples.RatioAtLeast(1), report.Met},
		"the ratio, not quite":        {samples.RatioAtLeast(1.001), report.NotMet},
		"the ratio, at most, just":    {samples.RatioAtMost(1), report.Met},
		"the ratio, at most, not":     {samples.RatioAtMost(0.999), report.NotMet},
		"the most, just":              {samples.EachAtMost(6), report.Met},
		"the most, not quite":         {samples.EachAtMost(5.9), report.NotMet},
		"nothing measured":            {report.Figure{}.AtMost(1), report.NotMet},
		"the peer is not there":       {report.Figure{Ours: []float64{1}}.RatioAtMost(5), report.NotMet},
		"as often for us as for them": {report.Figure{Ours: []float64{1, 1}, Theirs: []float64{1}}.RatioAtMost(5), report.NotMet},
		"a peer of 0":                 {report.Figure{Ours: []float64{1}, Theirs: []float64{0}}.RatioAtLeast(1), report.NotMet},
	} {
		if got := c.figure.Verdict(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// The page has a row for each figure, with what is known of it.
func TestPage(t *testing.T) {
	machine := report.Machine{Processor: "P", Processors: 2, Kernel: "K"}
	r := report.Results{Sections: []report.Section{
		{
			Name: "a", Begun: time.Unix(1e9, 0), Took: 12.3, Machine: machine, Load: "1 2 3", After: "4 5 6", Versions: map[string]string{"Redis": "7"},
			Figures: []report.Figure{
				report.Figure{Group: "g", What: "alone", Unit: report.Seconds, Ours: []float64{1, 3, 2}, Note: "a | note"}.EachAtMost(3),
				report.Figure{Group: "h", What: "beside", Unit: report.Rate, Ours: []float64{10, 20, 30}, Peer: "p", Theirs: []float64{10, 10, 10}}.RatioAtLeast(3),
				{Group: "g", What: "without a target", Unit: report.Bytes, Ours: []float64{5000, 5000, 5000}},
			},
		},
		{Name: "b", Machine: machine, Figures: []report.Figure{{Group: "i", What: "none", Note: "a | note"}}},
	}}
	page := string(r.Page())
	for strings.Contains(page, "  ") { // the padding
		page = strings.ReplaceAll(page, "  ", " ")
	}
	last := 0
	for _, want := range []string{
		"**1 targets met, 1 missed.**",
		"## g\n", "| alone | 2 s (1 s to 3 s) | each at most 3 s | met | a \\| note |", "| without a target | 5 KB | | | |",
		"## h\n", "| beside | 20/s | p 10/s | 2.00 (1.00 to 3.00) | at least 3 times | NOT MET |",
		"## i\n\nIn all rows: a \\| note.\n", "| none | unknown |",
		"| `a` | 3 | 2001-09-09 01:46 UTC | 12 s | 1 2 3 | 4 5 6 | 1 |", "| `b` | 0 |",
		"\n1. 2 processors, P; ", "| Redis | 7 |",
	} {
		at := strings.Index(page, want)
		if at < last {
			t.Errorf("%q is at %d, after %d, of\n%s", want, at, last, page)
		}
		last = at
	}
}
