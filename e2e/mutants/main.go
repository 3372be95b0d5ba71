// Command mutants shows that the drills find bugs: it breaks the daemon on purpose, in one way
// after the other, in a copy of the source that is thrown away, and runs the drills that have to
// find it. Each *.patch here is one way; its head says what it breaks, and which drills (as go
// test's -run names them, after TestDrills/) are run on it.
//
//	go run ./e2e/mutants [NAME...]
//
// It ends with status 1 if a break was not found. The images of `make drill-images` must be there.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/flakeward/flakeward/e2e/report"
	"github.com/flakeward/flakeward/internal/mutant"
)

func main() {
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: go run ./e2e/mutants [NAME...], from the root of the source; a name is that of a patch in e2e/mutants")
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	all, err := tryAll(ctx, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
	}
	if err != nil || !all {
		os.Exit(1)
	}
}

// drillsKey is what a head calls the drills that must find the mutant, as -run names them after
// TestDrills/.
const drillsKey = "Drills"

func load(dir string, names []string) ([]mutant.Mutant, error) {
	return mutant.Load(dir, names, []string{drillsKey}, nil)
}

// finding is what came of one mutant.
type finding struct {
	mutant mutant.Mutant
	by     []string // drills that found violations, with how many
	not    []string // those that did not
	took   time.Duration
}

// tryAll tries the mutants of the names, or all, and prints what came of them. It returns whether
// each was found.
func tryAll(ctx context.Context, names []string) (all bool, err error) {
	root, err := os.Getwd()
	if err != nil {
		return false, err
	}
	mutants, err := load(filepath.Join(root, "e2e", "mutants"), names)
	if err != nil {
		return false, err
	}
	var found []finding
	for _, t := range mutants {
		begun := time.Now()
		f := finding{mutant: t}
		if f.by, f.not, err = try(ctx, root, t); err != nil {
			return false, fmt.Errorf("%s: %w", t.Name, err)
		}
		f.took = time.Since(begun)
		found = append(found, f)
	}
	fmt.Println()
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "mutant\tbreaks\tfound by\ttook")
	all = true
	for _, f := range found {
		by := strings.Join(f.by, ", ")
		if len(f.not) > 0 {
			all = false
			by = strings.TrimPrefix(by+"; NOT by "+strings.Join(f.not, ", "), "; ")
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%v\n", f.mutant.Name, f.mutant.Breaks, by, f.took.Round(time.Second))
	}
	return all, table.Flush()
}

// try breaks a copy of the source, builds the daemon of it, and runs the drills on that. Violations
// are what has to be found, by each drill on each coordinator: to fail otherwise is no proof, for a
// daemon that does not start does that, too.
func try(ctx context.Context, root string, t mutant.Mutant) (by, not []string, err error) {
	copied, err := os.MkdirTemp("", "flakeward-mutant-")
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(copied)) }()
	if err := mutant.Copy(ctx, root, copied); err != nil {
		return nil, nil, err
	}
	if err := t.Apply(ctx, copied); err != nil {
		return nil, nil, err
	}
	image := "flakeward-drill:mutant-" + t.Name
	// Its folder may be no repository, so the version is not asked of one.
	if err := run(ctx, copied, "make", "--no-print-directory", "drill-image", "DRILL_IMAGE="+image, "GOFLAGS=-buildvcs=false"); err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, run(context.WithoutCancel(ctx), root, "docker", "image", "rm", image)) }()

	program := filepath.Join(copied, "drills")
	if err := run(ctx, root, "go", "test", "-c", "-tags", "e2e", "-o", program, "./e2e/drills"); err != nil {
		return nil, nil, err
	}
	name := "mutant" + strings.ReplaceAll(t.Name, "-", "")
	runs := filepath.Join(root, "e2e", "runs-"+name)
	defer func() { err = errors.Join(err, os.RemoveAll(runs)) }()
	for _, drills := range t.Words(drillsKey) {
		// That it fails is what is wanted: how, its records say.
		failure := run(ctx, filepath.Join(root, "e2e", "drills"), program, "-test.timeout", "40m", "-test.run", "TestDrills/"+drills, "-image", image, "-name", name)
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		records, err := report.LoadAll(runs)
		if err != nil {
			return nil, nil, err
		}
		if len(records) == 0 {
			return nil, nil, fmt.Errorf("no drill %q was run: %w", drills, failure)
		}
		for _, d := range records {
			who := d.Name + " on " + d.Coordinator
			switch {
			case d.Violations > 0:
				by = append(by, fmt.Sprintf("%s (%d violations)", who, d.Violations))
			case d.Failed != "":
				not = append(not, fmt.Sprintf("%s (it failed: %s)", who, d.Failed))
			default:
				not = append(not, who)
			}
		}
	}
	return by, not, nil
}

// run runs a command and passes its output on.
func run(ctx context.Context, dir, name string, args ...string) error {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir, c.Stdout, c.Stderr = dir, os.Stdout, os.Stderr
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) } // the drills remove what they started
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
