//go:build !linux

package realtime

import (
	"errors"
	"fmt"
)

// Process needs Linux: the threads of a process are listed in /proc.
func Process(int) error {
	return fmt.Errorf("real-time priority: %w but on Linux", errors.ErrUnsupported)
}
