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
func TestWatchLooksRarelyWhileNobodyAsks(t *testing.T) {
	for name, c := range map[string]struct {
		unasked, asked bool
		machine        generator.Generation
		want           time.Duration
	}{
		"asked lately":                 {want: lifecycle.WatchEvery},
		"unasked":                      {unasked: true, want: lifecycle.WatchUnasked},
		"asked again":                  {unasked: true, asked: true, want: lifecycle.WatchEvery},
		"unasked, copies can be found": {unasked: true, machine: generator.Generation{Now: new(atomic.Uint64)}, want: lifecycle.WatchEvery},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		clock := &hands{last: 2, end: cancel}
		l, _ := newLifecycle(t, clock, nil)
		holder := grant.New(grant.Config{
			Layout: l.Layout, Coord: "there", Timing: grant.Timing{Window: time.Minute, Publish: time.Second, Step: time.Second},
			Clock: clock, Journal: nowhere{}, Log: hclog.NewNullLogger(),
		}, nowhere{})
		now := l.Layout.TickAt(clock.Now().Wall)
		kept := journal.Contents{Cluster: "the cluster", Coord: "there", Layout: holder.LayoutText(), Entries: []journal.Entry{{Worker: 1, Opening: "o", Mark: now - 10}}}
		must.Do(t, holder.Inherit(kept))
		must.Do(t, grant.TakeOver(holder, grant.Handed{Worker: 1, Opening: "o", Last: now - 11, Granted: now + 60_000}))
		l.Holder, l.Machine = holder, c.machine
		must.Do(t, holder.Renew())
		if c.unasked {
			clock.mono += 10 * time.Second
		}
		if c.asked {
			holder.ExtendNow()
		}
		must.Do(t, l.Watch(ctx, lookless{}))
		if !slices.Equal(clock.slept, []time.Duration{c.want, c.want}) {
			t.Errorf("%s: the clock was looked at after %v, want each %v", name, clock.slept, c.want)
		}
		cancel()
	}
}
