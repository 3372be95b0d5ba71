//go:build !linux

package process

import "syscall"

// Orphanless does nothing where a child cannot be tied to its parent.
func Orphanless() *syscall.SysProcAttr { return nil }
