package grant_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

var errRestored = &coord.RestoredError{Why: "its revision went from 900 to 412"}

// restored makes the coordinator one that was restored: it says so to every call.
func (p *process) restored() { p.coord.before = func(string) error { return errRestored } }

// A coordinator that was restored under a daemon: that issues to the end of its grant and no
// further, says why, and goes on trying.
func TestRestoredUnderALiveDaemon(t *testing.T) {
	for _, lost := range []bool{false, true} {
		w := newFixture(t)
		h := w.host("J")
		p := h.start()
		p.take()
		granted, since := p.Holding().Granted, w.clock.Now()
		if lost { // the claim, before the daemon learns of the rest
			p.passedOn()
			must.Fail(t, p.Publish(t.Context()), coord.ErrLost)
		}
		p.restored()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- p.Hold(ctx) }()
		for w.tick() <= granted {
			w.clock.BlockUntil(1)
			if out := p.take(); out == generator.Closed || out == generator.AboveCeiling {
				t.Fatalf("lost %v: at tick %d of a grant up to %d a request met %v", lost, w.tick(), granted, out)
			}
			p.ReLease(p.inUse())
			w.clock.Advance(step / 4)
		}
		for range 50 { // long after
			w.clock.BlockUntil(1)
			if out := p.take(); out != generator.AboveCeiling {
				t.Fatalf("lost %v: after the grant a request met %v", lost, out)
			}
			w.clock.Advance(time.Second)
		}
		w.clock.BlockUntil(1)
		var restored *coord.RestoredError
		err := p.Condition()
		if !errors.As(err, &restored) || !strings.Contains(err.Error(), time.Unix(0, since.Wall).UTC().Format("2006-01-02T15:04:")) ||
			!strings.Contains(err.Error(), "cluster raise") {
			t.Errorf("the trouble is %v, want since when, why, and what to do", err)
		}
		if p.CanAcquire() {
			t.Error("another worker ID is said to be had")
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("lost %v: Hold ended with %v", lost, err)
		}
		if p.Holding().Granted != granted {
			t.Errorf("the grant went from %d to %d", granted, p.Holding().Granted)
		}
		must.Do(t, p.Shut(t.Context()))
	}
}
