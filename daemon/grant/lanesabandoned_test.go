package grant_test

import (
	"context"
	"errors"
	"testing"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/internal/must"
)

// One lane learns that the cluster is no more while another's claim is in the journal's hands: what
// that lane was about to begin, or to go on with, ends as well, and the journal keeps no grant of
// it.
func TestALaneIsAbandonedWhileItTakesAClaim(t *testing.T) {
	for _, c := range []struct {
		name    string
		restart bool // the lane is new, and comes from the journal; else it has served and lost its claim
	}{{"after a restart", true}, {"after a lost claim", false}} {
		t.Run(c.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				h := w.host("A")
				l := h.startLanes(2)
				if c.restart {
					l.crash()
					l = h.bootLanes(2)
					must.Do(t, l.join())
				}
				p := l.all[1]
				if !c.restart {
					p.revoke()
					must.Fail(t, p.Publish(t.Context()), coord.ErrLost)
				}
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				p.disk.during = func() {
					w.wipe()
					if err := l.lifecycle.Hold(t.Context(), 0); !errors.Is(err, coord.ErrOtherCluster) {
						t.Fatalf("lane 0 ended with %v", err)
					}
					// What ends one lane ends all, so this one does not learn the reason from the
					// coordinator.
					l.coord.before = func(string) error { stop(); return ctx.Err() }
				}
				if err := p.Acquire(ctx, false); !errors.Is(err, coord.ErrOtherCluster) {
					t.Errorf("lane 1 took its claim with %v, want that all is abandoned", err)
				}
				if got := p.Holding(); got.Granted != 0 || got.Claimed {
					t.Errorf("lane 1 holds %+v after all was abandoned", got)
				}
				w.clock.Advance(step)
				must.Do(t, p.Renew())
				if n := p.issueAll(); n > 0 {
					t.Errorf("lane 1 issued %d IDs after all was abandoned", n)
				}
				if err := p.Acquire(t.Context(), false); !errors.Is(err, coord.ErrOtherCluster) {
					t.Errorf("lane 1 claimed again with %v", err)
				}
				must.Do(t, p.Shut(context.WithoutCancel(ctx)))
			})
		})
	}
}
