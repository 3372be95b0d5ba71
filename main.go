//go:build !windows

// Command flakeward hands out 64-bit IDs that are unique in the whole cluster
// and sort by time, to everything on its host, over a Unix socket.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/flakeward/flakeward/cli"
)

// secondCounts is how long after the first signal to stop a second one has no effect.
const secondCounts = time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal ends ctx. Whoever stops a process may send several at once, so the next ones
	// are caught for a while, and have no effect. Later ones end the process at once.
	context.AfterFunc(ctx, func() { time.AfterFunc(secondCounts, stop) })
	err := cli.Run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr, serve)
	cli.Report(os.Stderr, err)
	os.Exit(cli.ExitCode(err))
}
