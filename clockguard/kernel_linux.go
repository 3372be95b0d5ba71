package clockguard

import (
	"errors"
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// SystemKernel asks the kernel of this machine. The zero value is ready; Close it when done.
type SystemKernel struct {
	timer  int  // a timerfd that is cancelled when the wall clock is set
	opened bool // and was not closed
	failed bool // there is no timer: WasSet always returns false
}

// Boot implements Kernel with CLOCK_BOOTTIME, which Linux has had since 2.6.39.
func (k *SystemKernel) Boot() int64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) != nil {
		return 0
	}
	return t.Nano()
}

// WasSet implements Kernel. The first call begins to listen. It must not be called by two goroutines
// at once.
func (k *SystemKernel) WasSet() bool {
	if !k.opened && !k.failed {
		k.failed = k.open() != nil
	}
	if !k.opened {
		return false
	}
	var expired [8]byte
	_, err := unix.Read(k.timer, expired[:])
	return errors.Is(err, unix.ECANCELED)
}

// open makes a timer that is due at the end of time. TFD_TIMER_CANCEL_ON_SET (timerfd_create(2)) has
// a read of it fail with ECANCELED once after the wall clock was set; slewing is no setting.
func (k *SystemKernel) open() (err error) {
	if k.timer, err = unix.TimerfdCreate(unix.CLOCK_REALTIME, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC); err != nil {
		return err
	}
	k.opened = true
	end := unix.ItimerSpec{Value: unix.NsecToTimespec(math.MaxInt64)}
	if err = unix.TimerfdSettime(k.timer, unix.TFD_TIMER_ABSTIME|unix.TFD_TIMER_CANCEL_ON_SET, &end, nil); err != nil {
		k.Close()
	}
	return err
}

// Close ends the listening. WasSet returns false from then on.
func (k *SystemKernel) Close() {
	if k.opened {
		_ = unix.Close(k.timer) // nothing was written to it
	}
	k.opened, k.failed = false, true
}

// Synchronised implements Kernel by adjtimex(2): the clock is not if its state is TIME_ERROR or its
// status has STA_UNSYNC, as after somebody has set it by hand.
func (k *SystemKernel) Synchronised() (maxError time.Duration, ok bool) {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	if err != nil || state == unix.TIME_ERROR || t.Status&unix.STA_UNSYNC != 0 {
		return 0, false
	}
	return time.Duration(t.Maxerror) * time.Microsecond, true
}
