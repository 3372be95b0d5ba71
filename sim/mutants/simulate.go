package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// simLimit is far more than all seeds take, on a machine with much else to do, too. A break that
// makes a run endless is one to write otherwise.
const simLimit = 30 * time.Minute

// violation is the line in which the simulation tells of one.
var violation = regexp.MustCompile(`^seed (\d+): VIOLATION: (.*)`)

// simulate builds the simulation and runs it. It returns the lowest seed that shows a violation, 0
// if none does, and what is violated.
func (h hunt) simulate(ctx context.Context, dir, overlay string, recovers bool) (seed uint64, violated string, err error) {
	program := filepath.Join(dir, "simulation")
	build := command(ctx, h.root, "go", "build", "-overlay="+overlay, "-trimpath", "-buildvcs=false", "-o", program, "./sim")
	if out, err := build.CombinedOutput(); err != nil {
		return 0, "", fmt.Errorf("it does not compile, which breaks nothing: %w\n%s", err, out)
	}
	limited, cancel := context.WithTimeoutCause(ctx, simLimit, fmt.Errorf("%d seeds do not end within %v", h.seeds, simLimit))
	defer cancel()
	// It says which seed was the lowest before it shrinks that one, for which nobody waits here.
	found, enough := context.WithCancel(limited)
	defer enough()
	sim := command(found, dir, program, "-n", strconv.Itoa(h.seeds), "-p", strconv.Itoa(h.workers), "-again", "0", "-healed", "0", "-recover="+strconv.FormatBool(recovers))
	out, err := sim.StdoutPipe()
	if err != nil {
		return 0, "", err
	}
	var said strings.Builder
	sim.Stderr = &said
	sim.Cancel = func() error { return sim.Process.Kill() }
	if err := sim.Start(); err != nil {
		return 0, "", err
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		m := violation.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		seed, err = strconv.ParseUint(m[1], 10, 64)
		violated = m[2]
		break
	}
	if seed != 0 {
		enough()
	}
	ended := sim.Wait()
	switch {
	case err != nil:
		return 0, "", err
	case seed != 0:
		return seed, violated, panicked(violated)
	case limited.Err() != nil:
		return 0, "", context.Cause(limited)
	case ended != nil:
		return 0, "", fmt.Errorf("the simulation ends without a violation and with %w\n%s", ended, said.String())
	}
	return 0, "", nil
}

// panicked is an error if what is violated is a panic: that is seen whatever the simulation judges.
func panicked(violated string) error {
	if strings.HasPrefix(violated, "panic: ") {
		return errors.New("breaks by a panic: write it otherwise")
	}
	return nil
}

// command is one that is interrupted with ctx.
func command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) } // so that the tests end what they started
	c.WaitDelay = 10 * time.Second
	return c
}
