package report_test

import (
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/e2e/bench/report"
)

func TestFormat(t *testing.T) {
	for _, c := range []struct {
		unit  report.Unit
		value float64
		want  string
	}{
		{report.Number, 0, "0"},
		{report.Number, 3, "3"},
		{report.Number, 999.4, "999"},
		{report.Number, 999.6, "1,000"},
		{report.Number, -1234567, "-1,234,567"},
		{report.Number, 0.012345, "0.0123"},
		{report.Rate, 4096000.4, "4,096,000/s"},
		{report.Rate, 12.34, "12.3/s"},
		{report.Seconds, 0, "0"},
		{report.Seconds, 1.5, "1.5 s"},
		{report.Seconds, 0.00123456, "1.23 ms"},
		{report.Seconds, 0.0009999, "1 ms"}, // not 1000 µs
		{report.Seconds, 47e-6, "47 µs"},
		{report.Seconds, 1.5e-8, "15 ns"},
		{report.Seconds, 3e-10, "0.3 ns"},
		{report.Bytes, 10_000, "10 KB"},
		{report.Bytes, 26.78e6, "26.8 MB"},
		{report.Bytes, -2_500, "-2.5 KB"},
		{report.Bytes, 12, "12 B"},
		{report.Share, 0.9934, "99.3%"},
		{report.Share, 1, "100%"},
	} {
		if got := report.Format(c.unit, c.value); got != c.want {
			t.Errorf("%v %q is written %q, want %q", c.value, c.unit, got, c.want)
		}
	}
}

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
		"not run":                     {report.Figure{Absent: "no Redis"}.AtMost(1), report.NotRun},
		"not run, with no target":     {report.Figure{Absent: "no Redis"}, report.NotRun},
	} {
		if got := c.figure.Verdict(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// The page has a row for each figure, with what is known of it, and says what was not measured.
func TestPage(t *testing.T) {
	machine := report.Machine{Processor: "P", Processors: 2, Kernel: "K"}
	r := report.Results{Sections: []report.Section{
		{Name: "a", About: "about a", Begun: time.Unix(1e9, 0), Took: 12.3, Machine: machine, Load: "1 2 3", After: "4 5 6", Findings: report.Findings{
			Figures: []report.Figure{
				report.Figure{Group: "g", What: "alone", Unit: report.Seconds, Ours: []float64{1, 3, 2}, Note: "a | note"}.EachAtMost(3),
				report.Figure{Group: "h", What: "beside", Unit: report.Rate, Ours: []float64{10, 20, 30}, Peer: "p", Theirs: []float64{10, 10, 10}}.RatioAtLeast(3),
				{Group: "g", What: "of a peer", Unit: report.Bytes, Peer: "p", Theirs: []float64{5000, 5000}},
				report.Figure{Group: "h", What: "computed", Ours: []float64{1}, Derived: true}.AtLeast(1),
			},
			Versions: map[string]string{"Redis": "7"},
		}},
		{Name: "b", About: "about b", Short: true, Failed: "hangs", Machine: machine, Findings: report.Findings{
			Figures: []report.Figure{{Group: "i", What: "none", Absent: "no p", Note: "a | note"}}, Missing: []string{"q: apt-get install q"},
		}},
	}}
	page := string(r.Page())
	for strings.Contains(page, "  ") { // the padding
		page = strings.ReplaceAll(page, "  ", " ")
	}
	last := 0
	for _, want := range []string{
		"**2 targets met, 1 missed, 1 figures not run.**", "`b` could not be measured to its end: hangs", "it is missing: q: apt-get install q",
		"## g\n", "| alone | 2 s (1 s to 3 s) | | each at most 3 s | met | a \\| note |", "| of a peer | | p 5 KB | | | |",
		"## h\n", "| beside | 20/s | p 10/s | 2.00 (1.00 to 3.00) | at least 3 times | NOT MET |", "| computed | 1 | | | at least 1 | met |",
		"## i\n\nIn all rows: a \\| note.\n", "| none | no p | not run |",
		"| `a` | 3 | 2001-09-09 01:46 UTC | 12 s | 1 2 3 | 4 5 6 | 1 |", "| `b` | 0 |", "with -short: too briefly to count",
		"\n1. 2 processors, P; ", "| Redis | 7 |",
	} {
		at := strings.Index(page, want)
		if at < last {
			t.Errorf("%q is at %d, after %d, of\n%s", want, at, last, page)
		}
		last = at
	}
}

func TestMedian(t *testing.T) {
	values := []float64{5, 1, 4, 2}
	for n, want := range []float64{0, 5, 3, 4, 3} {
		if got := report.Median(values[:n]); got != want {
			t.Errorf("of %v: %v, want %v", values[:n], got, want)
		}
	}
	if !slices.Equal(values, []float64{5, 1, 4, 2}) {
		t.Errorf("the values are now %v", values)
	}
}

func TestPut(t *testing.T) {
	names := []string{"a", "b", "c"}
	r := report.Results{Sections: []report.Section{{Name: "gone"}, {Name: "c", About: "old"}, {Name: "a", About: "old"}}}
	r.Put(report.Section{Name: "b", About: "new"}, names)
	r.Put(report.Section{Name: "c", About: "new"}, names)
	var got []string
	for _, s := range r.Sections {
		got = append(got, s.Name+" "+s.About)
	}
	if want := []string{"a old", "b new", "c new"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestFindingsAdd(t *testing.T) {
	a := report.Findings{Figures: []report.Figure{{What: "1"}}, Missing: []string{"x"}}
	a.Version("Go", "1")
	b := report.Findings{Figures: []report.Figure{{What: "2"}}, Missing: []string{"y"}}
	b.Version("Redis", "7")
	a.Add(b)
	if len(a.Figures) != 2 || len(a.Missing) != 2 || !maps.Equal(a.Versions, map[string]string{"Go": "1", "Redis": "7"}) {
		t.Errorf("%+v", a)
	}
}

func TestSaveAndLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	if r, err := report.Load(path); err != nil || len(r.Sections) > 0 {
		t.Errorf("without a file: %+v, %v", r, err)
	}
	of := func(v float64) report.Results {
		return report.Results{Sections: []report.Section{{Name: "a", Findings: report.Findings{Figures: []report.Figure{report.Figure{Ours: []float64{v}}.AtMost(1)}}}}}
	}
	if err := of(1234567.89).Save(path); err != nil { // six digits are kept
		t.Fatal(err)
	}
	if got, err := report.Load(path); err != nil || !reflect.DeepEqual(got, of(1234570)) {
		t.Errorf("%+v, %v", got, err)
	}
	if err := of(math.NaN()).Save(path); err == nil {
		t.Error("what is no number was written")
	}
	if err := report.Replace(path, []byte("{")); err != nil {
		t.Fatal(err)
	}
	if r, err := report.Load(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("%+v, %v: the error should name the file", r, err)
	}
	if err := report.Replace(filepath.Join(path, "below a file"), nil); err == nil {
		t.Error("no error where nothing can be written")
	}
}
