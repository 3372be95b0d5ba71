package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/e2e/bench/report"
	"github.com/flakeward/flakeward/internal/need"
)

// Sections run for real, briefly, into a directory of the test; what they lack is said.
func TestShort(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts daemons and loads them")
	}
	dir := t.TempDir()
	var out, log bytes.Buffer
	if err := run(t.Context(), []string{"-short", "-only", "start,open,idle,growth,process", "-out", dir}, &out, &log); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	r, err := report.Load(options{out: dir}.page(".json"))
	if err != nil || len(r.Sections) != 5 {
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
