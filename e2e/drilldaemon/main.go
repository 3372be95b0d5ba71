//go:build drill

// Command drilldaemon is flakeward with the faults that a drill asks for by its environment, and
// with the recorder of what the daemon does. It is built with the tag drill, or the places in the
// daemon where a drill may stop it would be empty.
//
//	drilldaemon old-cluster LAYOUT WINDOW
//
// makes a cluster as of long ago at $FLAKEWARD_COORD.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/flakeward/flakeward/cli"
	"github.com/flakeward/flakeward/internal/fault/inject"
)

func main() {
	if len(os.Args) != 4 || os.Args[1] != "old-cluster" {
		cli.Main(inject.Run)
		return
	}
	if err := oldCluster(os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "drilldaemon:", err)
		os.Exit(1)
	}
}

func oldCluster(layout, window string) error {
	d, err := time.ParseDuration(window)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return inject.MakeOldCluster(ctx, os.Getenv("FLAKEWARD_COORD"), layout, d)
}
