package serve

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/clockguard"
)

// The timer rings when it is due, never before, once for each time it is set, and not for a time that it was moved away from.
func TestTimer(t *testing.T) {
	clock := clockguard.System{}
	timer, err := newTimer(clock)
	if err != nil {
		t.Fatal(err)
	}
	defer timer.close()
	ring := func() {
		t.Helper()
		if n, err := unix.Poll([]unix.PollFd{{Fd: int32(timer.fd), Events: unix.POLLIN}}, 10000); n != 1 {
			t.Fatalf("poll: %d, %v", n, err)
		}
		if !timer.rung() {
			t.Error("it was heard, but has not rung")
		}
		if timer.rung() {
			t.Error("it has rung twice")
		}
	}
	for _, d := range []time.Duration{-time.Hour, 0, 1, time.Millisecond} {
		due := clock.Now().Mono + clockguard.Mono(d)
		timer.set(due)
		ring()
		timer.set(due) // it has passed by now
		ring()
		if now := clock.Now().Mono; now < due {
			t.Errorf("set to %v from now, it rang %v early", d, due.Sub(now))
		}
	}
	// Sooner, later, and sooner again.
	now := clock.Now().Mono
	for _, d := range []time.Duration{time.Hour, time.Millisecond, 2 * time.Hour, time.Millisecond} {
		timer.set(now + clockguard.Mono(d))
	}
	ring()
	// Called off.
	timer.set(clock.Now().Mono + 1)
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(timer.fd), Events: unix.POLLIN}}, 10000); n != 1 {
		t.Fatalf("poll: %d, %v", n, err)
	}
	timer.set(never)
	if timer.rung() {
		t.Error("it rang after it was called off")
	}
}
