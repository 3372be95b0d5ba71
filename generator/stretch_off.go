//go:build !drill

package generator

import "sync/atomic"

// stretch does nothing and stretching is always fine: they are for builds with the tag drill. The compiler leaves
// nothing of either.
func (*Lane) stretch(*atomic.Uint64, Tick) {}

func stretching() error { return nil }
