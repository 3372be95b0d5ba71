package grant_test

import (
	"os"
	"testing"
	"time"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// copied is another host that has a copy of h's state directory, and h's name: all that identified
// a host to the coordinator.
func (h *host) copied() *host {
	h.t.Helper()
	c := h.fixture.host(h.name)
	c.clock = h.clock
	must.Do(h.t, os.CopyFS(c.dir, os.DirFS(h.dir)))
	return c
}

// putBack starts a host, and has its journal as it was so many steps ago put back in the same file: p
// runs still, and old is the host with that journal.
func (w *fixture) putBack(steps time.Duration) (p *process, old *host) {
	w.t.Helper()
	h := w.host("H")
	p = h.start()
	w.clock.Advance(step)
	must.Do(w.t, p.Renew())
	old = h.copied()
	old.twin = true
	w.clock.Advance(steps * step)
	must.Do(w.t, p.Renew())
	return p, old
}

// A copy of a live state directory: the daemon on it neither deletes the original's claim nor goes
// on from its opening nor its grant. It gets another worker ID, and the original goes on.
func TestACopyBesideTheOriginalGetsAnotherWorkerID(t *testing.T) {
	for name, state := range map[string]func(original *process){
		"connected": func(*process) {},
		"cut off": func(original *process) {
			original.coord.before = func(string) error { return errCut }
		},
		"its session ended": func(original *process) { original.revoke() },
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				h := w.host("H")
				original := h.start()
				c := h.copied()
				state(original)
				claim := original.Holding().Claim
				copied := c.start()
				if copied.worker() == original.worker() {
					t.Errorf("the copy holds worker ID %d, as the original does", copied.worker())
				}
				if copied.issueAll() == 0 || original.issueAll() == 0 {
					t.Error("nothing was issued")
				}
				if name == "connected" {
					if err := original.Publish(t.Context()); err != nil || original.Holding().Claim != claim {
						t.Errorf("the original has lost its claim to the copy: %v", err)
					}
					original.issueAll()
				}
				w.clock.Advance(window / 2)
				must.Do(t, copied.Publish(t.Context()))
				copied.issues()
			})
		})
	}
}

// The marks of a copy are floors, also after its daemon has written a journal of its own and was
// started again, where the coordinator has lost what it knew.
func TestTheMarksOfACopyAreFloors(t *testing.T) {
	w := newFixture(t)
	h := w.host("H")
	original := h.start()
	mark, worker := original.Holding().Mark, original.worker()
	c := h.copied()
	first := c.start()
	first.issueAll()
	first.crash()

	contents := must.Get(c.reboot().dir.Read())(t)
	left := generator.Tick(-1)
	for _, e := range contents.Entries {
		if e.Worker == worker && e.Left && e.Claim == "" {
			left = e.Mark
		}
	}
	if left != mark {
		t.Errorf("the journal of the copy says of worker ID %d: %d, want the mark %d: %+v", worker, left, mark, contents.Entries)
	}
}
