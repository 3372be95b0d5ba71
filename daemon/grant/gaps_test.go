package grant_test

import (
	"context"
	"testing"
	"time"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

const year = 365 * 24 * time.Hour

// A step ahead of more than a window opens the worker ID anew: what lies between is granted to
// nobody, the lane before is over, and once the clock is right the worker ID serves there again.
func TestAStepAheadCostsWhatIsIssuedThere(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		h := w.host("J")
		p := h.start()
		p.issueAll()
		before, lane := p.Holding(), p.inUse()
		w.clock.Step(year)
		must.Do(t, p.Publish(t.Context()))
		ahead := p.Holding()
		if ahead.Worker != before.Worker || ahead.Opening == before.Opening || ahead.Floor != w.tick()-1 || !lane.Closed() {
			t.Errorf("holds %+v after %+v, and the lane before is closed: %v", ahead, before, lane.Closed())
		}
		p.issues()
		if e := p.onDisk(); e.Opening != ahead.Opening || e.Floor != ahead.Floor || e.Mark <= e.Floor {
			t.Errorf("the journal's entry is %+v", e)
		}
		w.clock.Step(-year)
		w.clock.Advance(time.Second)
		must.Do(t, p.Acquire(t.Context(), true))
		back := p.Holding()
		if back.Worker != before.Worker || back.Floor > w.tick() || back.Until != ahead.Floor || back.Granted != w.tick()+generator.Tick(window/time.Millisecond) {
			t.Errorf("back, it holds %+v, want worker ID %d until %d", back, before.Worker, ahead.Floor)
		}
		p.issues()
		// Over a crash, and when the wrong time comes round, nothing is issued again.
		p.crash()
		again := h.start()
		if again.worker() != before.Worker || again.Holding().Until != ahead.Floor {
			t.Errorf("after a restart: %+v", again.Holding())
		}
		again.issueAll()
		w.clock.Step(year - time.Second - 50*time.Millisecond)
		must.Do(t, again.Publish(t.Context()))
		again.issueAll()
		w.clock.Advance(time.Second)
		must.Do(t, again.Acquire(t.Context(), true))
		again.issues()
	})
}

// All hosts of a cluster with no worker ID to spare were ahead by a year: each is back by itself.
func TestAStepAheadOfAllHostsCostsNoWorkerID(t *testing.T) {
	w := newFixture(t)
	var all []*process
	for len(all) < w.layout.Workers() {
		p := w.host(string(rune('A' + len(all)))).start()
		p.issueAll()
		all = append(all, p)
	}
	for range 2 {
		for _, by := range []time.Duration{year, -year} {
			w.clock.Step(by)
			w.clock.Advance(3 * window)
			for _, p := range all {
				if err := p.Acquire(t.Context(), true); err != nil {
					t.Fatalf("%s, by %v: %v", p.name, by, err)
				}
				if p.issueAll() == 0 {
					t.Errorf("%s, by %v: nothing can be issued at tick %d: %+v", p.name, by, w.tick(), p.Holding())
				}
			}
		}
	}
}

// At the end of a gap the worker ID is left for one that can be issued from.
func TestAGapsEndIsLeftInTime(t *testing.T) {
	w := newFixture(t)
	ahead := w.fast("A", 2*time.Second).start()
	ahead.issueAll()
	ahead.revoke()
	p := w.host("J").startFor(ahead.worker())
	until := p.Holding().Until
	if p.worker() != ahead.worker() || until != ahead.Holding().Floor {
		t.Fatalf("holds %+v, want worker ID %d until %d", p.Holding(), ahead.worker(), ahead.Holding().Floor)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- p.Mark(ctx) }()
	go func() { ended <- p.Hold(ctx) }()
	for w.tick() < until+100 {
		w.clock.BlockUntil(2)
		if h := p.Holding(); h.Granted > w.tick()+generator.Tick(window/time.Millisecond) || h.Until != 0 && h.Granted > h.Until {
			t.Fatalf("at tick %d granted %+v", w.tick(), h)
		}
		if out := p.take(); out == generator.AboveCeiling || out == generator.Closed {
			t.Fatalf("at tick %d, the end being %d, a request met %v: %+v", w.tick(), until, out, p.Holding())
		}
		w.clock.Advance(step / 4)
	}
	if h := p.Holding(); h.Until == until {
		t.Errorf("still holds %+v", h)
	}
	stop()
	must.Do(t, <-ended, <-ended)
}
