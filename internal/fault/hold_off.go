//go:build !drill

package fault

import "sync/atomic"

// Hold does nothing, and the compiler leaves nothing of it: it is for builds with the tag drill.
func Hold(*atomic.Uint64, uint64) {}

// Point does nothing.
func Point(Step) {}

// Synced does nothing.
func Synced(string, []byte) {}

// Check always returns nil: nothing can be held.
func Check() error { return nil }
