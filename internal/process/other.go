//go:build !linux

package process

import (
	"context"
	"errors"
	"os"
	"syscall"
)

// Pause stops a child of this process by SIGSTOP. It may run on for a moment.
func Pause(child *os.Process) error { return child.Signal(syscall.SIGSTOP) }

// AwaitPause is an error: nobody can tell here.
func AwaitPause(context.Context, *os.Process) error { return errors.ErrUnsupported }

// Orphanless does nothing where a child cannot be tied to its parent.
func Orphanless() *syscall.SysProcAttr { return nil }
