// Command testreport runs `go test` with the arguments it is given and says how
// it went: a line for each package, the whole output of what failed, and at the
// end `N passed, N failed` alone on a line. Tests and subtests count alike; a
// package that fails without a failed test (it does not build, it ran into the
// time limit) counts as one failure, so that the numbers never hide one.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	failed, err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
	}
	if failed || err != nil {
		os.Exit(1)
	}
}

// run starts `go test -json` with args, reports on what it says, and waits for
// it. It reports whether anything failed; an error means that the tests could
// not be run or read to their end.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (failed bool, err error) {
	command := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...)
	// An interrupt lets the tests end by themselves; a kill would orphan them.
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.Stderr = stderr
	events, err := command.StdoutPipe()
	if err != nil {
		return false, err
	}
	if err := command.Start(); err != nil {
		return false, fmt.Errorf("starting go test: %w; is Go on the PATH?", err)
	}

	report := newReport(stdout)
	readErr := report.read(events)
	if readErr != nil {
		// Whoever writes must not block on a pipe that nobody reads.
		_, _ = io.Copy(io.Discard, events)
	}
	waitErr := command.Wait()
	report.finish(waitErr != nil)

	if readErr != nil {
		return true, readErr
	}
	return report.failed > 0, nil
}
