package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// atOnce is how many bugs are tried at once: each builds with all that the processors have.
const atOnce = 2

// finding is what came of one bug.
type finding struct {
	bug
	seed     uint64 // the first that showed a violation; 0: none did
	violated string
	failed   []string // the tests that failed, or the drills that found violations
	missed   []string // the drills that found none
	bad      error    // why it is no bug
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
	text := fmt.Sprintf("%s, %v", f.name, f.took.Round(time.Second))
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

// hunt is how bugs are looked for.
type hunt struct {
	root    string // of the source
	drills  bool   // they look for what is wrong, and not simulation and tests
	seeds   int
	workers int // how many runs of the simulation at once
}

// all tries all bugs and reports each when it is done.
func (h hunt) all(ctx context.Context, bugs []bug, progress io.Writer) (findings []finding, err error) {
	begun := time.Now()
	together := min(atOnce, runtime.GOMAXPROCS(0))
	if h.drills { // the source as it is has drills of its own
		together = 1
	} else {
		h.workers = runtime.GOMAXPROCS(0)
		sound := h.try(ctx, whole(bugs))
		if sound.bad != nil || len(sound.by()) > 0 {
			return nil, fmt.Errorf("what fails without being broken proves nothing: %v", sound)
		}
		fmt.Fprintf(progress, "%v\n", sound)
	}
	h.workers = max(1, runtime.GOMAXPROCS(0)/atOnce)
	findings = make([]finding, len(bugs))
	var next atomic.Int64
	var mu sync.Mutex // guards progress
	var group sync.WaitGroup
	for range together {
		group.Go(func() {
			for n := int(next.Add(1)) - 1; n < len(bugs) && ctx.Err() == nil; n = int(next.Add(1)) - 1 {
				findings[n] = h.try(ctx, bugs[n])
				mu.Lock()
				fmt.Fprintf(progress, "%d of %d, after %v: %v\n", n+1, len(bugs), time.Since(begun).Round(time.Second), findings[n])
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return findings, context.Cause(ctx)
}

// try has one bug looked for. The simulation looks where it must find it, and in the source as it
// is: to find nothing takes it as long as all seeds do.
func (h hunt) try(ctx context.Context, b bug) (f finding) {
	f.bug = b
	defer func(begun time.Time) { f.took = time.Since(begun) }(time.Now())
	dir, err := os.MkdirTemp("", "flakeward-mutant-")
	if err != nil {
		f.bad = err
		return f
	}
	defer func() { f.bad = errors.Join(f.bad, os.RemoveAll(dir)) }()
	overlay, err := b.overlay(h.root, dir)
	if err != nil {
		f.bad = err
		return f
	}
	if h.drills {
		f.failed, f.missed, f.bad = h.drill(ctx, b, overlay)
		return f
	}
	sound := len(b.changes) == 0
	if sound || slices.Contains(b.must, bySim) {
		f.seed, f.violated, f.bad = h.simulate(ctx, dir, overlay, b.recovers)
	}
	if f.bad == nil && f.seed == 0 && b.recovers && sound { // both kinds of runs
		f.seed, f.violated, f.bad = h.simulate(ctx, dir, overlay, false)
	}
	for _, s := range b.suites {
		if f.bad != nil {
			break
		}
		var failed []string
		failed, f.bad = h.test(ctx, s, overlay)
		f.failed = append(f.failed, failed...)
	}
	return f
}
