package lifecycle_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/daemon/lifecycle"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// While nobody asks for IDs the clock is looked at rarely, unless the machine shows when it is
// copied.
func TestWatchLooksRarelyWhileTheDaemonIsIdle(t *testing.T) {
	for name, c := range map[string]struct {
		idle, asked bool
		machine     generator.Generation
		want        time.Duration
	}{
		"asked lately":              {want: lifecycle.WatchEvery},
		"idle":                      {idle: true, want: lifecycle.WatchIdle},
		"asked again":               {idle: true, asked: true, want: lifecycle.WatchEvery},
		"idle, copies can be found": {idle: true, machine: generator.Generation{Now: new(atomic.Uint64)}, want: lifecycle.WatchEvery},
	} {
		var called atomic.Int32
		ctx, cancel := context.WithCancel(t.Context())
		clock := &hands{last: 2, end: cancel}
		l, _ := newLifecycle(t, clock, nil)
		holder := grant.New(grant.Config{
			Layout: l.Layout, Coord: "there", Timing: grant.Timing{Window: time.Minute, Publish: time.Second, Step: time.Second, Idle: 3 * time.Second},
			Clock: clock, Journal: nowhere{}, Log: hclog.NewNullLogger(),
		}, nowhere{})
		now := l.Layout.TickAt(clock.Now().Wall)
		kept := journal.Contents{Cluster: "the cluster", Coord: "there", Layout: holder.LayoutText(), Entries: []journal.Entry{{Worker: 1, Opening: "o", Mark: now - 10}}}
		must.Do(t, holder.Inherit(kept))
		must.Do(t, grant.TakeOver(holder, grant.Handed{Worker: 1, Opening: "o", Last: now - 11, Granted: now + 60_000}))
		l.Holder, l.Machine, l.Idle = holder, c.machine, func() { called.Add(1) }
		if c.idle {
			clock.mono += 10 * time.Second
		}
		if c.asked {
			holder.ExtendNow()
		}
		must.Do(t, holder.Renew())
		must.Do(t, l.Watch(ctx, lookless{}))
		if !slices.Equal(clock.slept, []time.Duration{c.want, c.want}) {
			t.Errorf("%s: the clock was looked at after %v, want each %v", name, clock.slept, c.want)
		}
		want := int32(0)
		if c.idle && !c.asked {
			want = 1
		}
		if got := called.Load(); got != want {
			t.Errorf("%s: Idle was called %d times, want %d", name, got, want)
		}
		cancel()
	}
}
