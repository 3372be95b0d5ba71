//go:build !linux

package clockguard

import "time"

// pause waits about d on the monotonic clock; it may return early.
func pause(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // this is the clock
}
