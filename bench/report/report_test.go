package report_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/flakeward/flakeward/bench/report"
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
		"the least, just":             {samples.EachAtLeast(1), report.Met},
		"the least, not quite":        {samples.EachAtLeast(1.1), report.NotMet},
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

// load reads the results that the page in testdata was made of.
func load(t *testing.T) report.Results {
	t.Helper()
	r, err := report.Load(filepath.Join("testdata", "results.json"))
	if err != nil || len(r.Sections) != 3 {
		t.Fatalf("%d sections, %v", len(r.Sections), err)
	}
	return r
}

// With UPDATE=1 in the environment what is written now becomes what is wanted.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is now\n%s", path, got)
	}
}

func TestMarkdown(t *testing.T) { golden(t, "benchmarks.md", load(t).Markdown("benchmarks")) }

// The page says of each table, and of each section, how many rounds it is made of.
func TestMarkdownSaysHowManyRounds(t *testing.T) {
	of := func(n int) report.Figure { return report.Figure{Group: "g", What: "w", Ours: make([]float64, n)} }
	derived := of(1)
	derived.Derived = true
	quoted := report.Figure{Group: "g", What: "w", Peer: "p", Theirs: []float64{1}}
	plot := report.Plot{Name: "p", Group: "g", Rounds: 7, Lines: []report.Line{{Name: "l", X: []float64{1}, Y: []float64{2}, Low: []float64{1}, High: []float64{3}}}}
	for name, c := range map[string]struct {
		findings       report.Findings
		sentence, cell string
	}{
		"all alike":        {report.Findings{Figures: []report.Figure{of(7), of(7)}}, "Medians of 7 rounds.", "7"},
		"one more often":   {report.Findings{Figures: []report.Figure{of(9), of(7)}}, "Medians of 7 to 9 rounds.", "7 to 9"},
		"from others":      {report.Findings{Figures: []report.Figure{of(7), derived}}, "Medians of 7 rounds.", "7"},
		"once":             {report.Findings{Figures: []report.Figure{of(1)}}, "Measured once.", "1"},
		"a plot by itself": {report.Findings{Plots: []report.Plot{plot}}, "| 2 (1 to 3) |\n\nMedians of 7 rounds.", "7"},
		"not measured":     {report.Findings{Figures: []report.Figure{quoted}}, "", ""},
	} {
		page := string(report.Results{Sections: []report.Section{{Name: "s", About: "a", Findings: c.findings}}}.Markdown("d"))
		_, group, _ := strings.Cut(page, "## g\n")
		group, when, _ := strings.Cut(group, "\n## ")
		if !strings.Contains(group, c.sentence) || c.sentence == "" && (strings.Contains(group, "rounds") || strings.Contains(group, "once")) {
			t.Errorf("%s: %q is not in\n%s", name, c.sentence, group)
		}
		if row := "| `s` | a | " + c.cell + " | "; !strings.Contains(when, row) {
			t.Errorf("%s: %q is not in\n%s", name, row, when)
		}
	}
}

func TestText(t *testing.T) {
	var out bytes.Buffer
	load(t).Text(&out)
	golden(t, "table.txt", out.Bytes())
}

// No text makes a row of more or fewer cells than its table has, or a line that is no row.
func TestMarkdownKeepsItsCells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("a| \n\r<b"))).Draw(t, "text")
		r := report.Results{Sections: []report.Section{{Findings: report.Findings{Figures: []report.Figure{
			{Group: "g", What: text, Note: text, Ours: []float64{1}, Peer: text, Theirs: []float64{1}}, {Group: "g", What: "b", Absent: text},
		}}}}}
		_, page, _ := strings.Cut(string(r.Markdown("d")), "## g\n\n")
		table, _, _ := strings.Cut(page, "\n\n")
		rows := strings.Split(table, "\n")
		cells := strings.Count(rows[1], "|")
		for _, row := range rows {
			if n := strings.Count(strings.ReplaceAll(row, `\|`, ""), "|"); n != cells || len(rows) != 4 || strings.ContainsAny(row, "<\r") {
				t.Fatalf("%d of %d cells in %q, of %q", n, cells, row, rows)
			}
		}
	})
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
	b := report.Findings{Figures: []report.Figure{{What: "2"}}, Plots: []report.Plot{{Name: "p"}}, Missing: []string{"y"}}
	b.Version("Redis", "7")
	a.Add(b)
	if len(a.Figures) != 2 || len(a.Plots) != 1 || len(a.Missing) != 2 || !reflect.DeepEqual(a.Versions, map[string]string{"Go": "1", "Redis": "7"}) {
		t.Errorf("%+v", a)
	}
}

func TestEncodeAndDecode(t *testing.T) {
	r := load(t)
	r.Sections[0].Figures[0].Ours[0] = 1234567.89 // six digits are kept
	b, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := report.Decode(b)
	if err != nil || again.Sections[0].Figures[0].Ours[0] != 1234570 {
		t.Errorf("%v, %v", again.Sections[0].Figures[0].Ours, err)
	}
	if r.Sections[0].Figures[0].Ours[0] != 1234567.89 {
		t.Error("Encode has changed the results")
	}
	b2, err := again.Encode()
	if err != nil || !bytes.Equal(b, b2) {
		t.Errorf("written anew it is\n%s\n%v", b2, err)
	}
}

func TestEncodeRefusesWhatIsNoNumber(t *testing.T) {
	r := report.Results{Sections: []report.Section{{Findings: report.Findings{Figures: []report.Figure{{Ours: []float64{math.NaN()}}}}}}}
	if b, err := r.Encode(); err == nil {
		t.Errorf("%s", b)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for text, says := range map[string]string{
		"":   "no results",
		"[]": "no results",
		`{"sections":[{"figures":[{"what":"f","unit":"miles"}]}]}`:         "miles",
		`{"sections":[{"plots":[{"name":"../../etc/passwd"}]}]}`:           "passwd",
		`{"sections":[{"plots":[{"name":""}]}]}`:                           "name",
		`{"sections":[{"plots":[{"name":"p"}]},{"plots":[{"name":"p"}]}]}`: "its own",
	} {
		if r, err := report.Decode([]byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %+v, %v; want an error that says %q", text, r, err, says)
		}
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.json")
	if r, err := report.Load(path); err != nil || len(r.Sections) > 0 {
		t.Errorf("without a file: %+v, %v", r, err)
	}
	if err := report.Write(path, []byte("{")); err != nil {
		t.Fatal(err)
	}
	if r, err := report.Load(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("%+v, %v: the error should name the file", r, err)
	}
}

func TestWriteReplacesAndLeavesNothingElse(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, content := range []string{"a long first content", "second"} {
		if err := report.Write(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != content {
			t.Errorf("%q, %v; want %q", b, err, content)
		}
	}
	if err := report.Write(filepath.Join(path, "below a file"), nil); err == nil {
		t.Error("no error where nothing can be written")
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
}

// What is accepted can be shown, and written anew it reads as the same.
func FuzzDecode(f *testing.F) {
	b, err := os.ReadFile(filepath.Join("testdata", "results.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"sections":[{"name":"a","figures":[{"group":"g","what":"w","unit":"s","ours":[1e300,-1e-300],"theirs":[0,1],"peer":"p","target":{"of":"odd"}}],"plots":[{"name":"p","lines":[{"name":"l","x":[1,2],"y":[3]}]}]}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := report.Decode(b)
		if err != nil {
			return
		}
		if page := r.Markdown("benchmarks"); !bytes.HasPrefix(page, []byte("# Benchmarks\n")) {
			t.Errorf("the page is %s", page)
		}
		r.Text(&bytes.Buffer{})
		first, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := report.Decode(first)
		if err != nil {
			t.Fatalf("%v in %s", err, first)
		}
		second, err := again.Encode()
		if err != nil || !bytes.Equal(first, second) || !json.Valid(second) {
			t.Errorf("%s\nand written anew\n%s, %v", first, second, err)
		}
	})
}
