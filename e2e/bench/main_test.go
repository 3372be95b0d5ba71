package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/e2e/bench/report"
	"github.com/flakeward/flakeward/internal/need"
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

// What is measured replaces what there was of that section, and nothing else. A section that fails,
// or lacks a program, is on the page with the reason.
func TestPage(t *testing.T) {
	old := sections
	defer func() { sections = old }()
	fake := func(name string, value float64, err error) section {
		return section{name: name, about: "about " + name, measure: func(context.Context, setting) (report.Findings, error) {
			return report.Findings{Figures: []report.Figure{{Group: name, What: "value", Ours: slices.Repeat([]float64{value}, fullRounds)}}}, err
		}}
	}
	sections = []section{fake("a", 11, nil), fake("b", 22, nil), {name: "c", about: "lacks", needs: []string{"no-such-program"}}}
	dir := t.TempDir()
	measure := func(chosen ...section) error {
		o := options{out: dir}
		results, err := report.Load(o.page(".json"))
		if err != nil {
			t.Fatal(err)
		}
		b := bench{options: o, dir: t.TempDir(), stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}}
		return b.all(t.Context(), chosen, results)
	}
	if err := measure(sections...); err != nil {
		t.Fatal(err)
	}
	if err := measure(fake("b", 33, fmt.Errorf("%w\nlast | line", os.ErrDeadlineExceeded))); err == nil || !strings.Contains(err.Error(), "b: ") {
		t.Errorf("the error is %v", err)
	}
	read := func() string {
		b, err := os.ReadFile(filepath.Join(dir, "benchmarks.md"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	page := read()
	cells := regexp.MustCompile(` +`).ReplaceAllString(page, " ") // without the padding
	for word, want := range map[string]bool{
		"| value | 11 |": true, "| value | 22 |": false, "| value | 33 |": true, "no-such-program": true,
		"`b` could not be measured to its end: " + os.ErrDeadlineExceeded.Error() + ` last \| line`: true,
	} {
		if strings.Contains(cells, word) != want {
			t.Errorf("the page has %q: %v, want %v\n%s", word, !want, want, page)
		}
	}
	// Made again it is the same, but for a section that is no more.
	render := func() string {
		if err := run(t.Context(), []string{"-render", "-out", dir}, &bytes.Buffer{}, &bytes.Buffer{}); err != nil {
			t.Fatal(err)
		}
		return read()
	}
	if again := render(); again != page {
		t.Errorf("made again, the page is\n%s", again)
	}
	if sections = sections[1:]; strings.Contains(render(), "`a`") {
		t.Error("the page has a section that is no more")
	}
}

func TestNowhereToWrite(t *testing.T) {
	if err := run(t.Context(), []string{"-render", "-out", "no/such/directory"}, &bytes.Buffer{}, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "no/such/directory") {
		t.Errorf("the error is %v", err)
	}
}

// Sections run for real, briefly, into a directory of the test; what they lack is said.
func TestShort(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts daemons and loads them")
	}
	dir := t.TempDir()
	var out, log bytes.Buffer
	if err := run(t.Context(), []string{"-short", "-only", "start,idle,growth,process", "-out", dir}, &out, &log); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	r, err := report.Load(options{out: dir}.page(".json"))
	if err != nil || len(r.Sections) != 4 {
		t.Fatalf("%d sections, %v", len(r.Sections), err)
	}
	for _, s := range r.Sections {
		if s.Failed != "" || !s.Short || len(s.Figures) == 0 {
			t.Errorf("%s: %+v", s.Name, s)
		}
		if len(s.Missing) > 0 {
			need.That(t, errors.New(strings.Join(s.Missing, "; ")))
		}
	}
}
