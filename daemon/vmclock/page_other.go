//go:build !linux || !(amd64 || arm64)

package vmclock

import (
	"fmt"
	"sync/atomic"
)

// Page is never made on this system.
type Page struct{}

// Open returns ErrNone, wrapped.
func Open(path string) (*Page, error) { return nil, fmt.Errorf("%w at %s", ErrNone, path) }

// Counter returns nil.
func (*Page) Counter() *atomic.Uint64 { return nil }

// Generation returns false.
func (*Page) Generation() (generation uint64, ok bool) { return 0, false }

// Close does nothing.
func (*Page) Close() error { return nil }
