package serve

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/clockguard"
)

// never is later than all times.
const never = clockguard.Mono(1<<63 - 1)

// timer is one of the files that the loop waits for: it can be read once a time has come.
//
// The kernel keeps the time of the machine's clock. Another clock, as in tests and drills, has a
// goroutine that sleeps on it. For the machine's clock that would cost two threads more for every
// tick that is waited for, since the goroutine has to wake the loop.
type timer struct {
	clock    clockguard.Clock
	kernel   bool // the clock is the machine's
	fd       int
	due      clockguard.Mono    // never: it is not set, or has fired since
	cancel   context.CancelFunc // ends the sleep
	sleeping sync.WaitGroup
}

func newTimer(clock clockguard.Clock) (*timer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("timerfd_create: %w", err)
	}
	_, kernel := clock.(clockguard.System)
	return &timer{clock: clock, kernel: kernel, fd: fd, due: never, cancel: func() {}}, nil
}

// close ends the sleep and waits for it.
func (t *timer) close() {
	t.cancel()
	t.sleeping.Wait()
	_ = unix.Close(t.fd)
}

// set has the timer fire at due, and not at the time that it was set to before. If due has passed,
// it fires at once.
func (t *timer) set(due clockguard.Mono) {
	if due == t.due {
		return
	}
	t.due = due
	t.cancel()
	if t.kernel && due != never {
		t.arm(max(1, due.Sub(t.clock.Now().Mono)))
		return
	}
	t.arm(0)
	if due == never {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.cancel = cancel
	t.sleeping.Go(func() {
		if t.clock.Sleep(ctx, due.Sub(t.clock.Now().Mono)) == nil {
			t.arm(1)
		}
	})
}

// arm has the kernel's timer fire after d; 0: not at all.
func (t *timer) arm(d time.Duration) {
	at := unix.ItimerSpec{Value: unix.NsecToTimespec(d.Nanoseconds())}
	_ = unix.TimerfdSettime(t.fd, 0, &at, nil) // its errors are of the arguments
}

// fired tells whether the timer has fired since it was set last, and takes note of it.
func (t *timer) fired() bool {
	var times [8]byte
	if n, _ := readNow(t.fd, times[:]); n == 0 {
		return false
	}
	t.due = never
	return true
}
