package grant_test

import (
	"testing"
	"time"

	"github.com/flakeward/flakeward/internal/must"
)

// joined is n lanes that have joined and not claimed.
func (h *host) joined(n int) *lanes {
	h.t.Helper()
	l := h.bootLanes(n)
	must.Do(h.t, l.join())
	return l
}

// Journals of another layout say nothing of this one's worker IDs: their ticks are other instants.
func TestMarksOfAnotherLayoutDoNotCount(t *testing.T) {
	w := newFixture(t)
	h := w.host("A")
	h.startLanes(4).crash()
	w.wipe()
	h.layout = parse(t, "time=39@10ms,worker=2,sequence=2;epoch=2026-01-01T00:00:00Z")
	w.layout = h.layout
	l := h.joined(2)
	for _, p := range l.all {
		p.acquire()
	}
	for range 2 {
		must.Do(t, l.all[0].Acquire(t.Context(), true))
	}
	for i, p := range l.all {
		floor := p.Holding().Floor
		if ahead := time.Duration(w.layout.UnixNanos(floor) - w.clock.Now().Wall); ahead > wait {
			t.Errorf("lane %d: worker ID %d cannot be issued from for %v", i, p.worker(), ahead)
		}
	}
}
