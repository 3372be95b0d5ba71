// Command testreport runs `go test` with the arguments it is given, once for each part of them
// between `--`, which may begin with settings of the environment as NAME=value. It says how it went:
// a line for each package, the whole output of what failed, and at the end `N passed, N failed` alone
// on a line. Tests and subtests count alike; a package that fails without a failed test (it does not
// build, it ran into the time limit) counts as one failure, so that the numbers never hide one.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"slices"
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

// run runs `go test` once for each part of args. It reports whether anything failed; an
// error means that the tests could not be run or read to their end.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (failed bool, err error) {
	report := newReport(stdout)
	for more := true; more && err == nil; {
		part := args
		if i := slices.Index(args, "--"); i >= 0 {
			part, args = args[:i], args[i+1:]
		} else {
			more = false
		}
		err = test(ctx, report, part, stderr)
	}
	report.total()
	return err != nil || report.failed > 0, err
}

// setting is a variable of the environment.
var setting = regexp.MustCompile("^[A-Z_]+=")

// test starts `go test -json` with args, reports on what it says, and waits for it.
func test(ctx context.Context, report *report, args []string, stderr io.Writer) error {
	env := os.Environ()
	for len(args) > 0 && setting.MatchString(args[0]) {
		env, args = append(env, args[0]), args[1:]
	}
	command := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...)
	command.Env = env
	// An interrupt lets the tests end by themselves; a kill would orphan them.
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.Stderr = stderr
	events, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("starting go test: %w; is Go on the PATH?", err)
	}

	readErr := report.read(events)
	if readErr != nil {
		// Whoever writes must not block on a pipe that nobody reads.
		_, _ = io.Copy(io.Discard, events)
	}
	waitErr := command.Wait()
	report.finish(waitErr != nil)
	return readErr
}
