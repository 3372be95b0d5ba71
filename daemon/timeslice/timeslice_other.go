//go:build !linux

package timeslice

// Request does nothing: this system has no such slices.
func Request() error { return nil }
