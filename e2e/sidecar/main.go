// Command sidecar lives beside a daemon in a drill: it asks for IDs as services do and records what
// became of each request, and it has the few tools that a drill needs within containers that have
// none.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/flakeward/flakeward/e2e/sidecar/ask"
	"github.com/flakeward/flakeward/e2e/sidecar/cut"
)

const usage = `sidecar load --socket PATH --out DIR [flags]   ask for IDs until SIGTERM; DIR/*.replies is what became of it
sidecar cut both|in|out                        drop all packets of this network namespace, except for loopback's
sidecar heal                                   no longer; prints how many were dropped
sidecar fill DIR                               use up the disk that DIR is on
sidecar free DIR                               give them back
sidecar pause                                  do nothing until SIGTERM: what a pod's other containers share outlives them so
`

var errUsage = errors.New("this is not understood; see sidecar help")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		fmt.Fprintln(os.Stderr, "sidecar:", err)
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "sidecar:", err)
		os.Exit(1)
	}
}

// run does what the arguments say.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return errUsage
	}
	name, args := args[0], args[1:]
	one := func(do func(string) error) error {
		if len(args) != 1 {
			return errUsage
		}
		return do(args[0])
	}
	switch name {
	case "load":
		return load(ctx, args, stderr)
	case "cut":
		return one(func(direction string) error { return cut.Cut(cut.Direction(direction)) })
	case "heal":
		if len(args) != 0 {
			return errUsage
		}
		dropped, err := cut.Heal()
		if err == nil {
			_, err = fmt.Fprintf(stdout, "in %d out %d\n", dropped.In, dropped.Out)
		}
		return err
	case "fill":
		return one(fillDisk)
	case "free":
		return one(freeDisk)
	case "pause":
		<-ctx.Done()
		return nil
	case "help", "--help", "-h", "-help":
		_, err := io.WriteString(stdout, usage)
		return err
	}
	return errUsage
}

func load(ctx context.Context, args []string, stderr io.Writer) error {
	// One P: it never takes more than one processor from the daemon, and none of its goroutines has
	// to wake another thread.
	runtime.GOMAXPROCS(1)
	c := ask.Config{Rates: ask.DefaultRates()}
	flags := flag.NewFlagSet("sidecar load", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&c.Socket, "socket", "/run/flakeward/flakeward.sock", "the daemon's `path`")
	flags.StringVar(&c.Out, "out", "", "the `directory` that replies are recorded in")
	flags.DurationVar(&c.Rates.Single, "single", c.Rates.Single, "from one NEXT to the next; 0: none")
	flags.DurationVar(&c.Rates.Pipelined, "pipelined", c.Rates.Pipelined, "from one pipeline of NEXT to the next; 0: none")
	flags.IntVar(&c.Rates.Pipeline, "pipeline", c.Rates.Pipeline, "requests in a pipeline")
	flags.DurationVar(&c.Rates.Batch, "batch", c.Rates.Batch, "from one NEXT with a count to the next; 0: none")
	flags.DurationVar(&c.Rates.Runs, "runs", c.Rates.Runs, "from one RUN to the next; 0: none")
	flags.IntVar(&c.Rates.RunIDs, "run-ids", c.Rates.RunIDs, "its count")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 0 || c.Out == "" {
		return errUsage
	}
	return ask.Run(ctx, c)
}
