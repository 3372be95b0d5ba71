//go:build !linux

package process

import (
	"os"
	"syscall"
)

// Pause stops a child of this process by SIGSTOP. It may run on for a moment.
func Pause(child *os.Process) error { return child.Signal(syscall.SIGSTOP) }
