//go:build !windows

// Command flakeward hands out 64-bit IDs that are unique in the whole cluster
// and sort by time, to everything on its host, over a Unix socket.
package main

import (
	"github.com/flakeward/flakeward/cli"
	"github.com/flakeward/flakeward/daemon"
)

func main() { cli.Main(daemon.Run) }
