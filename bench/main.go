// Command bench measures the daemon and prints a table of figures with their targets: how soon it serves, how fast its socket is
// next to a Redis server's, how much one client gets, how much memory it takes, and how fast its lanes are.
//
// It builds the daemon from the module it is run in. Everything runs on this machine, on Unix sockets and loopback, and is
// ended with it. Whatever else the machine does is in the figures too, so the table begins with what the machine is and how busy
// it was. Missed targets are reported; only what could not be run, and with -strict a missed target, ends it with status 1.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	if isSelf(os.Args[1:]) {
		os.Exit(selfMain(os.Args[1:]))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// daemonPackage is the daemon's import path.
const daemonPackage = "github.com/flakeward/flakeward"

// options is what the program can be told.
type options struct {
	short  bool
	strict bool
	only   string
	binary string
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.BoolVar(&o.short, "short", false, "fewer and shorter rounds, to see that everything runs")
	flags.BoolVar(&o.strict, "strict", false, "a missed target is an error")
	flags.StringVar(&o.only, "only", "", "measure only these, separated by commas: "+strings.Join(names(sections), ", "))
	flags.StringVar(&o.binary, "daemon", "", "the daemon's program; empty: build it")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("%q is not understood: see -help", flags.Arg(0))
	}
	return o, nil
}

// run measures what the arguments ask for and prints the table to stdout.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	chosen, err := choose(sections, o.only)
	if err != nil {
		return err
	}
	if err := installed(chosen); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if o.binary == "" {
		if o.binary, err = build(ctx, dir); err != nil {
			return err
		}
	}
	machine := describe(ctx, o.binary, chosen)
	var figures []figure
	var failures []error
	for _, s := range chosen {
		fmt.Fprintf(stderr, "bench: %s: %s\n", s.name, s.about)
		place := filepath.Join(dir, s.name)
		if err := os.Mkdir(place, 0o700); err != nil {
			return err
		}
		measured, err := s.measure(ctx, setting{binary: o.binary, dir: place, short: o.short, log: stderr})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		figures = append(figures, measured...)
		if err != nil {
			figures = append(figures, figure{what: s.name, got: "could not be run"})
			failures = append(failures, fmt.Errorf("%s: %w", s.name, err))
		}
	}
	printTable(stdout, machine, figures)
	if missed := missed(figures); o.strict && missed > 0 {
		failures = append(failures, fmt.Errorf("%d of the targets missed", missed))
	}
	return errors.Join(failures...)
}

// build builds the daemon into dir, without cgo, and returns the program's path. With cgo, which the daemon has no need of, it
// would take 1.5 MB more of memory for the C library.
func build(ctx context.Context, dir string) (string, error) {
	binary := filepath.Join(dir, "flakeward")
	command := exec.CommandContext(ctx, "go", "build", "-o", binary, daemonPackage)
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := command.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("cannot build %s: %w: run this inside of its module, with Go on the PATH, or give -daemon\n%s", daemonPackage, err, out)
	}
	return binary, nil
}
