package grant_test

import (
	"testing"
	"time"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

func TestCleanStopWritesTheExactTick(t *testing.T) {
	w := newFixture(t)
	h := w.host("J")
	p := h.start()
	must.Do(t, p.Publish(t.Context())) // with a mark that is a step ahead
	w.clock.Advance(3 * time.Millisecond)
	p.take()
	last := w.tick()
	w.clock.Advance(2 * time.Millisecond)
	worker := p.worker()
	must.Do(t, p.Shut(t.Context()))
	if out := p.take(); out != generator.Closed {
		t.Errorf("a request after the stop met %v", out)
	}
	p.crash()
	again := h.start()
	if again.worker() != worker || again.Holding().Floor < last {
		t.Errorf("worker ID %d, floor %d, want %d, not below the last tick %d", again.worker(), again.Holding().Floor, worker, last)
	}
	if out := again.take(); out != generator.Issued {
		t.Errorf("the first request after a clean stop met %v", out)
	}
}

// A record may have been lowered although the reply was lost: another host may be there, and the
// next start is not.
func TestCleanStopWithALostReply(t *testing.T) {
	w := newFixture(t)
	h := w.host("J")
	p := h.start()
	p.issueAll()
	p.coord.loseRelease = true
	must.Do(t, p.Shut(t.Context()))
	p.crash()
	w.host("K").startFor(p.worker()).issueAll()
	h.start().issueAll()
}

// A clock that is wrong by years opens a worker ID far ahead. If nothing was issued from it, the
// record is back where the opening found it, and the next host need not wait for years.
func TestCleanStopOfAnUnusedLaneTakesTheRecordBack(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		h := w.fast("J", 34*365*24*time.Hour)
		p := h.start()
		worker := p.worker()
		must.Do(t, p.Shut(t.Context()))
		p.crash()
		next := w.host("K").startFor(worker)
		if h := next.Holding(); h.Worker != worker || h.Floor > w.tick() {
			t.Errorf("K has worker ID %d above %d, want %d not above the clock's tick, %d", h.Worker, h.Floor, worker, w.tick())
		}
		w.clock.Advance(time.Millisecond)
		next.issues()
		// J goes on from what it left, in its own present.
		again := h.start()
		h.clock.Advance(time.Millisecond)
		again.issues()
	})
}
