package clockguard

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// SystemKernel asks the kernel of this machine.
type SystemKernel struct{}

// Boot implements Kernel with CLOCK_BOOTTIME, which Linux has had since 2.6.39.
func (SystemKernel) Boot() int64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) != nil {
		return 0
	}
	return t.Nano()
}

// BootID implements Kernel by proc_sys_kernel(5).
func (SystemKernel) BootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

// Synchronised implements Kernel by adjtimex(2): the clock is not if its state is TIME_ERROR or its
// status has STA_UNSYNC, as after somebody has set it by hand.
func (SystemKernel) Synchronised() (maxError time.Duration, ok bool) {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	if err != nil || state == unix.TIME_ERROR || t.Status&unix.STA_UNSYNC != 0 {
		return 0, false
	}
	return time.Duration(t.Maxerror) * time.Microsecond, true
}
