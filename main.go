// Command flakeward hands out 64-bit IDs that are unique in the whole cluster
// and sort by time, to everything on its host, over a Unix socket.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/flakeward/flakeward/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal ends ctx; the next one is no longer caught and ends the
	// process at once.
	context.AfterFunc(ctx, stop)
	err := cli.Run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr, serve)
	cli.Report(os.Stderr, err)
	os.Exit(cli.ExitCode(err))
}
