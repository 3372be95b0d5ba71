package daemon_test

import (
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/daemon/daemontest"
)

// With --order strict a connection's IDs rise although the clock goes back, by little or by much.
// Without it they go down once the clock has gone back far.
func TestOrder(t *testing.T) {
	for name, strict := range map[string]bool{"time": false, "strict": true} {
		t.Run(name, func(t *testing.T) {
			c, clock := daemontest.Config(dir(t)), &clocktest.Stepped{}
			c.Clock, c.Time.Strict = clock, strict
			d := startBy(t, c, daemon.Run)
			last, fell := d.next(), false
			for _, back := range []time.Duration{time.Millisecond, time.Second, time.Minute, time.Hour} {
				clock.By.Add(-int64(back))
				for range 100 {
					id := d.next()
					fell = fell || id <= last
					last = id
				}
			}
			if fell == strict {
				t.Errorf("the clock went back, and IDs went down: %v", fell)
			}
		})
	}
}
