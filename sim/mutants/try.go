package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// most is how many mutants are tried at once: each builds with all that the processors have.
const most = 2

// finding is what came of one mutant.
type finding struct {
	broken
	seed     uint64 // the first that showed a violation; 0: none did
	violated string
	failed   []string // the tests that failed, or the drills that found violations
	not      []string // the drills that found none
	bad      error    // why it is no mutant
	took     time.Duration
}

// by is who found it.
func (f finding) by() (who []string) {
	if f.seed != 0 {
		who = append(who, bySim)
	}
	if len(f.failed) > 0 {
		who = append(who, byTests)
	}
	return who
}

func (f finding) String() string {
	text := fmt.Sprintf("%s, %v", f.Name, f.took.Round(time.Second))
	if f.bad != nil {
		text += ": " + f.bad.Error()
	}
	if f.seed != 0 {
		text += fmt.Sprintf(": seed %d: %s", f.seed, f.violated)
	}
	if len(f.failed) > 0 {
		text += ": " + strings.Join(f.failed, " ")
	}
	return text
}

// biteAll tries all mutants, in copies of one copy of the source as it was at the beginning, and
// tells of each when it is done.
func biteAll(ctx context.Context, how copied, mutants []broken, progress io.Writer) (findings []finding, err error) {
	folder, err := os.MkdirTemp("", "flakeward-mutants-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	source := filepath.Join(folder, "source")
	if err := os.Mkdir(source, 0o700); err != nil {
		return nil, err
	}
	if err := copySource(ctx, how.root, source); err != nil {
		return nil, err
	}
	begun := time.Now()
	together := min(most, runtime.GOMAXPROCS(0))
	how.workers = max(1, runtime.GOMAXPROCS(0)/most)
	if how.drills { // the source as it is has drills of its own
		together = 1
	} else {
		sound := (&copied{dir: source, seeds: how.seeds, workers: runtime.GOMAXPROCS(0)}).try(ctx, whole(mutants))
		if sound.bad != nil || len(sound.by()) > 0 {
			return nil, fmt.Errorf("what fails without being broken proves nothing: %v", sound)
		}
		fmt.Fprintf(progress, "%v\n", sound)
	}

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	findings = make([]finding, len(mutants))
	var next atomic.Int64
	var mu sync.Mutex // guards progress
	var group sync.WaitGroup
	for i := range together {
		dir := filepath.Join(folder, fmt.Sprintf("copy-%d", i))
		if err := os.CopyFS(dir, os.DirFS(source)); err != nil {
			cancel(err)
			break
		}
		c := how
		c.dir = dir
		group.Go(func() {
			for ctx.Err() == nil {
				n := int(next.Add(1)) - 1
				if n >= len(mutants) {
					return
				}
				f, err := c.attempt(ctx, mutants[n])
				if err != nil {
					cancel(err)
					return
				}
				findings[n] = f
				mu.Lock()
				fmt.Fprintf(progress, "%d of %d, after %v: %v\n", n+1, len(mutants), time.Since(begun).Round(time.Second), f)
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return findings, context.Cause(ctx)
}

// copied is a copy of the source.
type copied struct {
	dir     string
	root    string // of the source
	drills  bool   // they look for what is wrong, and not simulation and tests
	seeds   int
	workers int // how many runs of the simulation at once
}

// attempt breaks the copy, tries it, and mends it. An error means that nothing more can be tried
// there.
func (c *copied) attempt(ctx context.Context, b broken) (finding, error) {
	if err := b.Apply(ctx, c.dir); err != nil {
		return finding{broken: b, bad: err}, ctx.Err()
	}
	if !c.drills {
		f := c.try(ctx, b)
		return f, b.Undo(ctx, c.dir)
	}
	begun := time.Now()
	f, err := c.drill(ctx, b)
	f.took = time.Since(begun)
	return f, errors.Join(err, b.Undo(ctx, c.dir))
}

// try has the simulation and the tests look for what is wrong. The simulation does where it must find
// it, and in the source as it is: to find nothing takes it as long as all seeds do.
func (c *copied) try(ctx context.Context, b broken) (f finding) {
	begun := time.Now()
	f.broken = b
	if b.Path == "" || slices.Contains(b.must, bySim) {
		f.seed, f.violated, f.bad = c.simulate(ctx, b.recovers)
	}
	if f.bad == nil && f.seed == 0 && b.recovers && b.Path == "" { // of the source as it is, both kinds of runs
		f.seed, f.violated, f.bad = c.simulate(ctx, false)
	}
	for _, s := range b.suites {
		if f.bad != nil {
			break
		}
		var failed []string
		failed, f.bad = c.test(ctx, s)
		f.failed = append(f.failed, failed...)
	}
	f.took = time.Since(begun)
	return f
}
