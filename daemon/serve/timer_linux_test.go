package serve

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/internal/must"
)

// The timer fires when it is due, never before, once for each time it is set, and not for a time
// that it was moved away from.
func TestTimer(t *testing.T) {
	clock := clockguard.System{}
	timer := must.Get(newTimer(clock))(t)
	defer timer.close()
	fire := func() {
		t.Helper()
		if n, err := pollTimer(timer); n != 1 {
			t.Fatalf("poll: %d, %v", n, err)
		}
		if !timer.fired() {
			t.Error("it can be read, but has not fired")
		}
		if timer.fired() {
			t.Error("it has fired twice")
		}
	}
	for _, d := range []time.Duration{-time.Hour, 0, 1, time.Millisecond} {
		due := clock.Now().Mono + clockguard.Mono(d)
		timer.set(due)
		fire()
		timer.set(due) // it has passed by now
		fire()
		if now := clock.Now().Mono; now < due {
			t.Errorf("set to %v from now, it fired %v early", d, due.Sub(now))
		}
	}
	// Sooner, later, and sooner again.
	now := clock.Now().Mono
	for _, d := range []time.Duration{time.Hour, time.Millisecond, 2 * time.Hour, time.Millisecond} {
		timer.set(now + clockguard.Mono(d))
	}
	fire()
	// Called off.
	timer.set(clock.Now().Mono + 1)
	if n, err := pollTimer(timer); n != 1 {
		t.Fatalf("poll: %d, %v", n, err)
	}
	timer.set(never)
	if timer.fired() {
		t.Error("it fired after it was called off")
	}
}

// pollTimer waits until the timer can be read. A signal of Go's scheduler is no end of it.
func pollTimer(t *timer) (n int, err error) {
	for err = unix.EINTR; err == unix.EINTR; {
		n, err = unix.Poll([]unix.PollFd{{Fd: int32(t.fd), Events: unix.POLLIN}}, 10000)
	}
	return n, err
}
