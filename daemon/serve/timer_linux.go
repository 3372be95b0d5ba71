package serve

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/clockguard"
)

// bell has the loop woken at a time that may be moved.
type bell interface {
	set(due clockguard.Mono)
	close()
}

// timer is the bell of a loop that runs on the machine's clock: the kernel's own, one of the files that the loop waits for. A
// goroutine that sleeps instead has to wake the loop, which costs two threads more for every tick that is waited for.
type timer struct {
	clock clockguard.Clock
	fd    int
	due   clockguard.Mono // what the kernel was told last; never: nothing, or it has rung since
}

func newTimer(clock clockguard.Clock) (*timer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("timerfd_create: %w", err)
	}
	return &timer{clock: clock, fd: fd, due: never}, nil
}

func (t *timer) close() { _ = unix.Close(t.fd) }

// set moves the bell to due. What has passed already rings at once.
func (t *timer) set(due clockguard.Mono) {
	if due == t.due {
		return
	}
	t.due = due
	var at unix.ItimerSpec // all 0: not at all
	if due != never {
		at.Value = unix.NsecToTimespec(max(1, due.Sub(t.clock.Now().Mono).Nanoseconds()))
	}
	_ = unix.TimerfdSettime(t.fd, 0, &at, nil) // its errors are of the arguments
}

// rung tells whether the bell has rung since it was set last, and silences it.
func (t *timer) rung() bool {
	var times [8]byte
	if n, _ := readNow(t.fd, times[:]); n == 0 {
		return false
	}
	t.due = never
	return true
}
