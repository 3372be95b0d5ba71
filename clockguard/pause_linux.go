package clockguard

import (
	"time"

	"golang.org/x/sys/unix"
)

// pause waits about d on the monotonic clock; it may return early.
func pause(d time.Duration) {
	ts := unix.NsecToTimespec(d.Nanoseconds())
	// The one error that matters here, EINTR, is the caller's loop to handle.
	_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &ts, nil)
}
