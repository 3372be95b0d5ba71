//go:build !drill && !windows

package main

import "github.com/flakeward/flakeward/daemon"

// serve runs the daemon.
var serve = daemon.Run
