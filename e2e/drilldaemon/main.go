//go:build drill

// Command drilldaemon is flakeward with the faults that a drill asks for by its environment, and
// with the recorder of what the daemon does. It is built with the tag drill, or the places in the
// daemon where a drill may stop it would be empty.
package main

import (
	"github.com/flakeward/flakeward/cli"
	"github.com/flakeward/flakeward/internal/fault/inject"
)

func main() { cli.Main(inject.Run) }
