package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// secondCounts is how long after the first signal to stop a second one has no effect.
const secondCounts = time.Second

// Main is the whole of a program that runs its daemon by serve: it carries out the command in
// os.Args and exits.
func Main(serve Serve) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal ends ctx. Whoever stops a process may send several at once, so the next ones
	// are caught for a while, and have no effect. Later ones end the process at once.
	context.AfterFunc(ctx, func() { time.AfterFunc(secondCounts, stop) })
	err := Run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr, serve)
	Report(os.Stderr, err)
	os.Exit(ExitCode(err))
}
