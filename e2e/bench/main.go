// Command bench measures the daemon next to its peers and writes what came of it: a page with
// tables, docs/benchmarks.md, and all samples in docs/benchmarks.json.
//
//	go run ./e2e/bench                 # everything, about twenty minutes
//	go run ./e2e/bench -only socket    # one section; the rest of the page stays
//	go run ./e2e/bench -render         # the page again, without measuring
//	go run ./e2e/bench -short          # whether everything runs; writes no page
//
// It builds the daemon from the module it is run in. Everything runs on this machine, on Unix
// sockets and loopback, and is ended with it. Whatever else the machine does is in the figures too,
// so the page says what the machine is and how busy it was. Missed targets are reported; only what
// could not be run ends it with status 1. A peer that is not installed is reported as well, with
// what to install. It needs Linux.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/flakeward/flakeward/e2e/bench/report"
	"github.com/flakeward/flakeward/internal/process"
	"github.com/flakeward/flakeward/internal/tool"
)

func main() {
	if isSelf(os.Args[1:]) {
		os.Exit(selfMain(os.Args[1:]))
	}
	tool.Main("bench", run)
}

// options is what the program can be told.
type options struct {
	short  bool
	render bool
	only   string
	binary string
	out    string
}

// docs is where the page belongs.
const docs = "docs"

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.BoolVar(&o.short, "short", false, "fewer and shorter rounds, to see that everything runs; writes no page unless -out says where")
	flags.BoolVar(&o.render, "render", false, "measure nothing: make the page again from the results that there are")
	flags.StringVar(&o.only, "only", "", "measure only these, separated by commas, and leave the page's others as they are: "+strings.Join(names(sections), ", "))
	flags.StringVar(&o.binary, "daemon", "", "the daemon's program; empty: build it")
	flags.StringVar(&o.out, "out", "", "the directory of the page, "+docs+" if none is given; it must exist")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("%q is not understood: see -help", flags.Arg(0))
	}
	if o.out == "" && !o.short {
		o.out = docs
	}
	if o.render && (o.short || o.only != "") {
		return o, errors.New("-render measures nothing: leave out -short and -only")
	}
	return o, nil
}

// run measures what the arguments ask for, prints the tables to stdout and writes the page.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	chosen, err := choose(sections, o.only)
	if err != nil {
		return err
	}
	var results report.Results
	if o.out != "" {
		if results, err = report.Load(o.page(".json")); err != nil {
			return err
		}
	}
	if o.render {
		return o.write(results)
	}
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if o.binary == "" {
		if o.binary, err = process.BuildNormal(ctx, dir); err != nil {
			return err
		}
	} else if o.binary, err = filepath.Abs(o.binary); err != nil { // sections may run it from elsewhere
		return err
	}
	b := bench{options: o, dir: dir, machine: describe(ctx, o.binary), stdout: stdout, stderr: stderr}
	return b.all(ctx, chosen, results)
}

// page is the page's own file, or the one with the samples.
func (o options) page(ending string) string { return filepath.Join(o.out, "benchmarks"+ending) }

// write writes the samples and the page, if there is to be one.
func (o options) write(r report.Results) error {
	if o.out == "" {
		return nil
	}
	r.Keep(names(sections))
	if err := r.Save(o.page(".json")); err != nil {
		return fmt.Errorf("the page cannot be written: %w: run this at the root of the module, or give another directory with -out", err)
	}
	return report.Replace(o.page(".md"), r.Page())
}

// bench is one run of the program.
type bench struct {
	options
	dir            string
	machine        report.Machine
	stdout, stderr io.Writer
}

// all measures the sections one after the other. After each the page is written, so that an
// interruption costs one section.
func (b *bench) all(ctx context.Context, chosen []section, results report.Results) error {
	fmt.Fprintf(b.stdout, "%v; load %s\n\n", b.machine, loadAverage())
	if err := b.write(results); err != nil { // else a long measurement would end with nowhere to write
		return err
	}
	var measured report.Results
	var failures []error
	for _, s := range chosen {
		fmt.Fprintf(b.stderr, "bench: %s: %s\n", s.name, s.about)
		result, err := b.section(ctx, s)
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted in section %s: %w", s.name, ctx.Err())
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", s.name, err))
		}
		fmt.Fprintf(b.stderr, "bench: %s took %.0f s\n", s.name, result.Took)
		measured.Put(result, names(sections))
		results.Put(result, names(sections))
		if err := b.write(results); err != nil {
			return errors.Join(append(failures, err)...)
		}
	}
	failures = append(failures, measured.Tables(b.stdout))
	for _, s := range measured.Sections {
		for _, m := range s.Missing {
			fmt.Fprintf(b.stdout, "not measured, as it is missing: %s\n", m)
		}
	}
	return errors.Join(failures...)
}

// longest is how long a section may take: then something hangs.
const longest = 10 * time.Minute

// section measures one section in a directory of its own. What it found before an error counts.
func (b *bench) section(ctx context.Context, s section) (r report.Section, err error) {
	begun := time.Now()
	r = report.Section{Name: s.name, About: s.about, Begun: begun.UTC().Truncate(time.Second), Short: b.short, Machine: b.machine, Load: loadAverage()}
	defer func() {
		r.Took, r.After = time.Since(begun).Seconds(), loadAverage()
		if err != nil {
			r.Failed = err.Error()
		}
	}()
	if missing := s.missing(); len(missing) > 0 {
		r.Missing = missing
		r.Figures = []report.Figure{{Group: s.about, What: "everything", Absent: "not measured: a program is missing"}}
		return r, nil
	}
	place := filepath.Join(b.dir, s.name)
	if err := os.Mkdir(place, 0o700); err != nil {
		return r, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, longest, fmt.Errorf("it was not over after %v", longest))
	defer cancel()
	r.Findings, err = s.measure(ctx, setting{binary: b.binary, dir: place, short: b.short, log: b.stderr})
	if ctx.Err() != nil {
		err = errors.Join(context.Cause(ctx), err)
	}
	if err == nil && !b.short {
		err = tooFew(r.Figures)
	}
	return r, errors.Join(err, os.RemoveAll(place))
}
