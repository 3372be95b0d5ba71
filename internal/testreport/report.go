package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"strings"
)

// event is one line of `go test -json`; its form is described by
// `go doc test2json`.
type event struct {
	Action     string
	Package    string
	ImportPath string // of build output, in place of Package
	Test       string
	Elapsed    float64 // seconds
	Output     string
}

// id names a test, or a whole package if test is empty.
type id struct{ pkg, test string }

// report counts what the events say and writes it down as it comes.
type report struct {
	out                     io.Writer
	passed, failed, skipped int

	running map[id]bool
	output  map[id][]string     // of what has not ended yet
	counted map[string]bool     // packages that a failure was counted for
	build   map[string][]string // what the compiler said, by import path
}

func newReport(out io.Writer) *report {
	return &report{
		out:     out,
		running: make(map[id]bool),
		output:  make(map[id][]string),
		counted: make(map[string]bool),
		build:   make(map[string][]string),
	}
}

// read takes events to the end of r. A line that is no event is passed on as it
// is: the go command prints some of its own troubles so.
func (r *report) read(events io.Reader) error {
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) == nil && e.Action != "" {
				r.take(e)
			} else {
				fmt.Fprint(r.out, line)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the events of go test: %w", err)
		}
	}
}

func (r *report) take(e event) {
	key := id{e.Package, e.Test}
	switch e.Action {
	case "run":
		r.running[key] = true
	case "output":
		r.output[key] = append(r.output[key], e.Output)
	case "build-output":
		r.build[e.ImportPath] = append(r.build[e.ImportPath], e.Output)
	case "build-fail":
		r.print(r.build[e.ImportPath])
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.packageEnded(e)
		} else {
			r.testEnded(key, e)
		}
		delete(r.output, key)
	}
}

func (r *report) testEnded(key id, e event) {
	delete(r.running, key)
	switch e.Action {
	case "pass":
		r.passed++
	case "skip":
		r.skipped++
		fmt.Fprintf(r.out, "SKIP  %s %s\n", e.Package, e.Test)
	case "fail":
		r.fail(key, fmt.Sprintf("%.1fs", e.Elapsed))
	}
}

func (r *report) packageEnded(e event) {
	// A crash or the time limit ends a package without a word on the tests that
	// were running.
	for _, key := range r.unfinished(e.Package) {
		delete(r.running, key)
		r.fail(key, "did not end")
		delete(r.output, key)
	}
	switch e.Action {
	case "pass":
		fmt.Fprintf(r.out, "ok    %s %.1fs\n", e.Package, e.Elapsed)
	case "skip":
		fmt.Fprintf(r.out, "-     %s (no tests)\n", e.Package)
	case "fail":
		if !r.counted[e.Package] {
			r.fail(id{pkg: e.Package}, "no single test failed, but the package did")
			return
		}
		fmt.Fprintf(r.out, "FAIL  %s %.1fs\n", e.Package, e.Elapsed)
		r.print(r.output[id{pkg: e.Package}])
	}
}

func (r *report) unfinished(pkg string) []id {
	var keys []id
	for key := range r.running {
		if key.pkg == pkg {
			keys = append(keys, key)
		}
	}
	sort.Slice(keys, func(i, j int) bool { return keys[i].test < keys[j].test })
	return keys
}

func (r *report) fail(key id, why string) {
	r.failed++
	r.counted[key.pkg] = true
	fmt.Fprintf(r.out, "FAIL  %s (%s)\n", strings.TrimSpace(key.pkg+" "+key.test), why)
	r.print(r.output[key])
}

func (r *report) print(lines []string) {
	for _, line := range lines {
		fmt.Fprint(r.out, "      ", strings.TrimSuffix(line, "\n"), "\n")
	}
}

// finish closes the report with the numbers. If go test itself failed and no
// failure was counted, one is: it had a reason.
func (r *report) finish(commandFailed bool) {
	packages := make(map[string]bool)
	for key := range r.running {
		packages[key.pkg] = true
	}
	for pkg := range packages {
		r.packageEnded(event{Action: "fail", Package: pkg})
	}
	if commandFailed && r.failed == 0 {
		r.failed++
		fmt.Fprintln(r.out, "FAIL  go test ended with an error; see above")
	}
	clear(r.running)
}

// total says how it went.
func (r *report) total() {
	if r.skipped > 0 {
		fmt.Fprintf(r.out, "%d skipped\n", r.skipped)
	}
	fmt.Fprintf(r.out, "%d passed, %d failed\n", r.passed, r.failed)
}
