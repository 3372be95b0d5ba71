//go:build !linux

package clockguard

import "time"

// SystemKernel knows nothing here.
type SystemKernel struct{}

// Boot knows no such clock.
func (SystemKernel) Boot() int64 { return 0 }

// BootID is not known.
func (SystemKernel) BootID() string { return "" }

// Synchronised is not known.
func (SystemKernel) Synchronised() (time.Duration, bool) { return 0, false }

// pause waits about d on the monotonic clock; it may return early.
func pause(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // this is the clock
}
