package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/bench/report"
)

func TestParseChoosesWhereThePageIs(t *testing.T) {
	for args, want := range map[string]string{"": docs, "-only socket": docs, "-short": "", "-short -out x": "x", "-out x": "x", "-render": docs} {
		if o, err := parse(strings.Fields(args), &bytes.Buffer{}); err != nil || o.out != want {
			t.Errorf("%q writes to %q, %v; want %q", args, o.out, err, want)
		}
	}
	for _, args := range []string{"-render -short", "-render -only socket", "socket"} {
		if o, err := parse(strings.Fields(args), &bytes.Buffer{}); err == nil {
			t.Errorf("%q is understood as %+v", args, o)
		}
	}
}

// fake is a section that measures a number, with a plot of that name.
func fake(name string, value float64, plot string) section {
	return section{name: name, about: "about " + name, measure: func(context.Context, setting) (report.Findings, error) {
		return report.Findings{
			Figures: []report.Figure{{Group: name, What: "value", Ours: []float64{value}}},
			Plots:   []report.Plot{{Name: plot, Group: name, Title: name, Lines: []report.Line{{Name: "l", X: []float64{1, 2}, Y: []float64{1, value}}}}},
		}, nil
	}}
}

// measureInto runs sections for a page in dir, as the program does.
func measureInto(t *testing.T, dir string, chosen ...section) string {
	t.Helper()
	results, err := report.Load(page(dir).results())
	if err != nil {
		t.Fatal(err)
	}
	if err := page(dir).prepare(); err != nil {
		t.Fatal(err)
	}
	var out, log bytes.Buffer
	b := bench{options: options{out: dir}, dir: t.TempDir(), stdout: &out, stderr: &log}
	if err := b.all(t.Context(), chosen, results); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// What is measured replaces what there was of that section, and nothing else; a plot that is no
// more is removed.
func TestPageKeepsOtherSections(t *testing.T) {
	old := sections
	sections = []section{fake("a", 0, ""), fake("b", 0, "")}
	defer func() { sections = old }()
	dir := t.TempDir()
	said := measureInto(t, dir, fake("a", 11, "plot-a"), fake("b", 22, "plot-b"))
	if !strings.Contains(said, "value  11") || !strings.Contains(said, "value  22") || !strings.Contains(said, "the page is "+filepath.Join(dir, "benchmarks.md")) {
		t.Errorf("it said\n%s", said)
	}
	if said := measureInto(t, dir, fake("b", 33, "plot-new")); strings.Contains(said, "value  11") {
		t.Errorf("it said what it has not measured:\n%s", said)
	}
	text := read(t, filepath.Join(dir, "benchmarks.md"))
	for word, want := range map[string]bool{"| value | 11 |": true, "| value | 22 |": false, "| value | 33 |": true, "benchmarks/plot-a.svg": true, "plot-b": false, "benchmarks/plot-new.svg": true} {
		if strings.Contains(text, word) != want {
			t.Errorf("the page has %q: %v, want %v\n%s", word, !want, want, text)
		}
	}
	if got := files(t, filepath.Join(dir, plotsDir)); !slices.Equal(got, []string{"plot-a.svg", "plot-new.svg", "results.json"}) {
		t.Errorf("the files are %q", got)
	}

	// Made again it is the same.
	if err := os.Remove(filepath.Join(dir, "benchmarks.md")); err != nil {
		t.Fatal(err)
	}
	before := read(t, page(dir).results())
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-render", "-out", dir}, &out, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), filepath.Join(dir, "benchmarks.md")) {
		t.Errorf("it does not say where the page is: %q", out.String())
	}
	if again := read(t, filepath.Join(dir, "benchmarks.md")); again != text || read(t, page(dir).results()) != before {
		t.Errorf("made again, the page is\n%s", again)
	}
}

func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// A section that fails, or lacks a program, is on the page with the reason, and the others are
// measured.
func TestPageSaysWhatFailed(t *testing.T) {
	old := sections
	defer func() { sections = old }()
	broken := section{name: "broken", about: "breaks", measure: func(context.Context, setting) (report.Findings, error) {
		return report.Findings{Figures: []report.Figure{{Group: "broken", What: "half", Ours: []float64{44}}}}, fmt.Errorf("%w\nfirst line\nlast | line\n\n", os.ErrDeadlineExceeded)
	}}
	lacking := section{name: "lacking", about: "lacks", needs: []string{"no-such-program"}}
	sections = []section{broken, lacking, fake("c", 55, "c")}
	dir := t.TempDir()
	if err := page(dir).prepare(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	b := bench{options: options{out: dir}, dir: t.TempDir(), stdout: &out, stderr: &bytes.Buffer{}}
	if err := b.all(t.Context(), sections, report.Results{}); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("the error is %v", err)
	}
	text := read(t, filepath.Join(dir, "benchmarks.md"))
	for _, word := range []string{"`broken` could not be measured to its end: " + os.ErrDeadlineExceeded.Error() + `; the last line: last \| line`, "| half | 44 |", "no-such-program", "| value | 55 |"} {
		if !strings.Contains(text, word) {
			t.Errorf("the page lacks %q:\n%s", word, text)
		}
	}
	if !strings.Contains(out.String(), "no-such-program") {
		t.Errorf("it does not say what is missing:\n%s", out.String())
	}
}

func TestBrief(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "",
		"one":                                 "one",
		"one\n":                               "one",
		"one\n \n\t\n":                        "one",
		"ended: status 1\nstarting\nno lease": "ended: status 1; the last line: no lease",
		"a\r\nb\r\n\r\n":                      "a; the last line: b",
		strings.Repeat("é", mostSaid) + "\n" + strings.Repeat("é", mostSaid+1): strings.Repeat("é", mostSaid) + "; the last line: " + strings.Repeat("é", mostSaid) + "...",
	} {
		if got := brief(text); got != want {
			t.Errorf("%.40q is %.80q, want %.80q", text, got, want)
		}
	}
}

func TestPrepareNamesTheDirectory(t *testing.T) {
	if err := run(t.Context(), []string{"-render", "-out", "no/such/directory"}, &bytes.Buffer{}, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "no/such/directory") {
		t.Errorf("the error is %v", err)
	}
}

// lacking skips a test for want of something, which where CI runs is a failure.
func lacking(t *testing.T, what any) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// The sections that load the socket run for real, briefly, into a directory of the test; what they
// lack is said.
func TestShort(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts daemons and loads them")
	}
	dir := t.TempDir()
	var out, log bytes.Buffer
	if err := run(t.Context(), []string{"-short", "-only", "idle,growth,client", "-out", dir}, &out, &log); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	r, err := report.Load(page(dir).results())
	if err != nil || len(r.Sections) != 3 {
		t.Fatalf("%d sections, %v", len(r.Sections), err)
	}
	for _, s := range r.Sections {
		if s.Failed != "" || !s.Short || len(s.Figures)+len(s.Plots) == 0 {
			t.Errorf("%s: %+v", s.Name, s)
		}
		if len(s.Missing) > 0 {
			t.Logf("%s: %q", s.Name, s.Missing)
		}
	}
	if !strings.HasPrefix(read(t, filepath.Join(dir, "benchmarks.md")), "# Benchmarks\n") {
		t.Error("there is no page")
	}
}
