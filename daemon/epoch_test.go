package daemon_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard/clocktest"
)

// unset is a clock that is wrong until somebody waits for it.
type unset struct{ clocktest.Stepped }

func (u *unset) Sleep(ctx context.Context, d time.Duration) error {
	u.By.Store(0)
	return u.System.Sleep(ctx, min(d, time.Millisecond))
}

// A clock that shows a time for which the layout has no number does not end the daemon: it serves
// once the clock is set.
func TestAClockOutsideTheLayoutIsWaitedFor(t *testing.T) {
	for ahead, strict := range map[time.Duration]bool{-30 * 365 * 24 * time.Hour: false, 90 * 365 * 24 * time.Hour: false, 91 * 365 * 24 * time.Hour: true} {
		c, clock := config(dir(t)), &unset{}
		clock.By.Store(int64(ahead))
		c.Clock, c.Time.Strict = clock, strict
		r := start(t, c)
		r.next()
		r.shows("time-outside-layout")
		if !strings.Contains(r.log.String(), "waiting until it is set") {
			t.Errorf("%v ahead: the log does not tell:\n%s", ahead, r.log)
		}
		r.Stop()
	}
}
