package lifecycle_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakeward/flakeward/daemon/lifecycle"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// While nothing is issued the clock is looked at rarely, unless the machine shows copies.
func TestWatchLooksRarelyWhileNothingIsIssued(t *testing.T) {
	for name, c := range map[string]struct {
		idle    time.Duration // since the last ID
		machine generator.Generation
		want    time.Duration
	}{
		"issuing":                   {want: lifecycle.WatchEvery},
		"idle":                      {idle: 3 * time.Second, want: lifecycle.WatchIdle},
		"idle, copies can be found": {idle: 3 * time.Second, machine: generator.Generation{Now: new(atomic.Uint64)}, want: lifecycle.WatchEvery},
	} {
		o := newOutage(t, time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		o.mono += time.Second
		o.ask()
		o.mono += c.idle
		o.last, o.end, o.lifecycle.Machine = 2, cancel, c.machine
		must.Do(t, o.lifecycle.Watch(ctx, o.issuer))
		if !slices.Equal(o.slept, []time.Duration{c.want, c.want}) {
			t.Errorf("%s: the clock was looked at after %v, want each %v", name, o.slept, c.want)
		}
		cancel()
	}
}
