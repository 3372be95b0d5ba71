package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	drills "github.com/flakeward/flakeward/e2e/report"
)

// drill builds the daemon of the copy and runs the drills of the head on it. Violations are what
// has to be found, by each drill on each coordinator: to fail otherwise is no proof, for a daemon
// that does not start does that, too.
func (c *copied) drill(ctx context.Context, b broken) (f finding, err error) {
	f.broken = b
	image := "flakeward-drill:mutant-" + b.Name
	// Its folder may be no repository, so the version is not asked of one.
	if err := shown(ctx, c.dir, "make", "--no-print-directory", "drill-image", "DRILL_IMAGE="+image, "GOFLAGS=-buildvcs=false"); err != nil {
		return f, err
	}
	defer func() {
		err = errors.Join(err, shown(context.WithoutCancel(ctx), c.root, "docker", "image", "rm", image))
	}()
	program := filepath.Join(c.dir, "drills")
	if err := shown(ctx, c.root, "go", "test", "-c", "-tags", "e2e", "-o", program, "./e2e/drills"); err != nil {
		return f, err
	}
	name := "mutant" + strings.ReplaceAll(b.Name, "-", "")
	runs := filepath.Join(c.root, "e2e", "runs-"+name)
	defer func() { err = errors.Join(err, os.RemoveAll(runs)) }()
	for _, run := range b.Words("Drills") {
		// That it fails is what is wanted: how, its records say.
		failure := shown(ctx, filepath.Join(c.root, "e2e", "drills"), program, "-test.timeout", "40m", "-test.run", "TestDrills/"+run, "-image", image, "-name", name)
		if ctx.Err() != nil {
			return f, context.Cause(ctx)
		}
		records, err := drills.LoadAll(runs)
		if err != nil {
			return f, err
		}
		if len(records) == 0 {
			return f, fmt.Errorf("no drill %q was run: %w", run, failure)
		}
		for _, d := range records {
			who := d.Name + " on " + d.Coordinator
			switch {
			case d.Violations > 0:
				f.failed = append(f.failed, fmt.Sprintf("%s (%d violations)", who, d.Violations))
			case d.Failed != "":
				f.not = append(f.not, fmt.Sprintf("%s (it failed: %s)", who, d.Failed))
			default:
				f.not = append(f.not, who)
			}
		}
	}
	return f, nil
}

// shown runs a command and passes its output on.
func shown(ctx context.Context, dir, name string, args ...string) error {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir, c.Stdout, c.Stderr = dir, os.Stdout, os.Stderr
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) } // the drills remove what they started
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
