package daemon_test

import (
	"testing"

	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// A tick goes on where the last one stopped, and with --sequence-start zero it begins at 0.
func TestSequenceStart(t *testing.T) {
	for _, start := range []string{daemon.StartRolling, daemon.StartZero} {
		t.Run(start, func(t *testing.T) {
			c := daemontest.Config(dir(t))
			if c.IDs.SequenceStart != daemon.StartRolling {
				t.Errorf("%s is the default", c.IDs.SequenceStart)
			}
			c.IDs.SequenceStart = start
			d := startBy(t, c, daemon.Run)
			layout := must.Get(generator.ParseLayout(c.IDs.Layout))(t)
			var last generator.Parts
			for ticks := 0; ticks < 10; {
				now := must.Get(layout.Decompose(d.next()))(t)
				want := last.Sequence + 1
				if now.Tick != last.Tick {
					ticks++
					if want %= 1024; start == daemon.StartZero || ticks == 1 {
						want = 0
					}
				}
				if now.Sequence != want {
					t.Fatalf("%+v after %+v", now, last)
				}
				last = now
			}
		})
	}
}
