package daemon

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/internal/logging"
	"github.com/flakeward/flakeward/internal/logtest"
	"github.com/flakeward/flakeward/internal/must"
)

// A line is stamped by the system's clock. While that is not trusted, each line has the trusted
// time.
func TestTheLogHasTheTrustedTimeWhileTheClockIsHeld(t *testing.T) {
	out, manual := &logtest.Buffer{}, clocktest.NewManual(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	c := DefaultConfig()
	c.Socket.Path, c.Cluster.Coord, c.Clock = "/nowhere/s", "dir:/nowhere/coord", manual
	c.Log = logging.New(&hclog.LoggerOptions{Output: out, DisableTime: true})
	d := must.Get(New(c))(t)
	line := func(want string) {
		t.Helper()
		d.clock.Observe()
		before := len(out.String())
		d.log.Named("part").With("lane", 1).Info("line", "key", "value")
		if got := strings.TrimSpace(out.String()[before:]); !strings.HasSuffix(got, want) {
			t.Errorf("logged %q, want %q at the end", got, want)
		}
	}
	line("key=value")
	manual.Step(time.Hour)
	line("key=value trusted_time=2026-05-01T12:00:00.000Z")
	manual.Advance(2 * time.Second)
	line("key=value trusted_time=2026-05-01T12:00:02.000Z")
	manual.Step(-time.Hour)
	line("key=value")
}
