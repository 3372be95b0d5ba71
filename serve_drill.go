//go:build drill && !windows

package main

import "github.com/flakeward/flakeward/internal/fault/inject"

// serve runs the daemon with the faults that a drill asks for.
var serve = inject.Run
