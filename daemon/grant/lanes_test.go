package grant_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/internal/must"
)

// Every lane has a worker ID of its own, gets it back after a crash, a stop and the loss of the
// disk, and never issues a number twice.
func TestLanesGetTheirWorkerIDsBack(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		h := w.host("A")
		first := h.startLanes(4)
		first.issueAll()
		had := first.workers()
		if sorted := slices.Sorted(slices.Values(had)); !slices.Equal(sorted, []int{0, 1, 2, 3}) {
			t.Fatalf("four lanes hold %v of the worker IDs 0 to 3", had)
		}
		first.crash() // its session lives on

		w.clock.Advance(step)
		again := h.startLanes(4)
		again.issueAll()
		if got := again.workers(); !slices.Equal(got, had) {
			t.Errorf("after a crash the lanes hold %v, had %v", got, had)
		}
		again.stop()
		if left, err := w.tree.claims(t.Context()); err != nil || len(left) > 0 {
			t.Errorf("after a stop there are the claims %v, %v", left, err)
		}

		w.clock.Advance(step)
		h.dir = t.TempDir()
		diskless := h.startLanes(4)
		if got := diskless.workers(); !slices.Equal(got, had) {
			t.Errorf("without a journal the lanes hold %v, had %v", got, had)
		}
		w.clock.Advance(window)
		for _, p := range diskless.all {
			must.Do(t, p.Publish(t.Context()))
		}
		diskless.issueAll()
	})
}

// One lane's claim is cleared, and another lane changes its worker ID: neither is anything to the
// others, who go on extending their grants.
func TestALanesLossIsNotTheOthers(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		l := w.host("A").startLanes(3) // of 4 worker IDs
		had := l.workers()
		goOn := func(after string, lanes ...int) {
			t.Helper()
			w.clock.Advance(window / 2)
			for _, i := range lanes {
				p := l.all[i]
				if err := p.Publish(t.Context()); err != nil {
					t.Errorf("%s: lane %d: %v", after, i, err)
				}
				if p.issueAll() == 0 {
					t.Errorf("%s: lane %d has nothing to issue", after, i)
				}
			}
		}
		goOn("at first", 0, 1, 2)
		lost := l.all[1]
		lost.revoke()
		goOn("a claim of lane 1 is gone", 0, 2)
		if err := lost.Publish(t.Context()); !errors.Is(err, coord.ErrLost) {
			t.Fatalf("lane 1 published under a claim that is gone: %v", err)
		}
		goOn("lane 1 has found out", 0, 2)
		must.Do(t, errors.Join(lost.Acquire(t.Context(), false), lost.Renew()))
		if got := l.workers(); !slices.Equal(got, had) {
			t.Errorf("the lanes hold %v, had %v", got, had)
		}
		goOn("lane 1 has its worker ID again", 0, 1, 2)

		moved := l.all[2]
		must.Do(t, moved.Acquire(t.Context(), true))
		if got := l.workers(); slices.Contains(had, got[2]) || !slices.Equal(got[:2], had[:2]) {
			t.Errorf("after a re-lease of lane 2 the lanes hold %v, had %v", got, had)
		}
		goOn("lane 2 has another worker ID", 0, 1, 2)
	})
}

// There are fewer worker IDs than lanes: the others serve, and the one without gets the first that
// is free.
func TestMoreLanesThanWorkerIDsLeft(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		other := w.host("B").start()
		l := w.host("A").bootLanes(4)
		must.Do(t, l.join())
		without := -1
		for i, err := range l.claimAll() {
			var full *coord.ExhaustedError
			switch {
			case err == nil:
				if l.all[i].issueAll() == 0 {
					t.Errorf("lane %d has a worker ID and nothing to issue", i)
				}
			case !errors.As(err, &full) || without >= 0:
				t.Errorf("lane %d: %v, want that one of them finds all held", i, err)
			default:
				without = i
			}
		}
		if without < 0 {
			t.Fatal("four lanes got three worker IDs")
		}
		must.Do(t, other.Shut(t.Context()))
		p := l.all[without]
		w.clock.Advance(lastWait)
		p.acquire()
		if p.worker() != other.worker() || p.issueAll() == 0 {
			t.Errorf("lane %d: %+v, want worker ID %d", without, p.Holding(), other.worker())
		}
	})
}

// lastWait is after what a lane that found nothing asks again, and more than a floor that another
// left may be ahead.
const lastWait = window + wait

// A start with fewer lanes leaves the other journals, without their grants, and deletes their
// claims. A start with as many as before goes on from them, unless another has opened the record
// since.
func TestFewerLanesAndMoreAgain(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		h := w.host("A")
		four := h.startLanes(4)
		four.issueAll()
		had := four.workers()
		var kept []journal.Contents
		for _, p := range four.all {
			kept = append(kept, p.contentsOfLane())
		}
		four.crash()

		w.clock.Advance(step)
		two := h.startLanes(2)
		two.issueAll()
		if got := two.workers(); !slices.Equal(got, had[:2]) {
			t.Errorf("two lanes hold %v, had %v", got, had)
		}
		claims := must.Get(w.tree.claims(t.Context()))(t)
		for lane, c := range kept {
			if slices.Contains(claims, c.Lanes[0].Claim) {
				t.Errorf("the claim that lane %d had is still there", lane)
			}
		}
		for lane := 2; lane < 4; lane++ {
			want := kept[lane]
			f := must.Get(two.dir.Lane(lane))(t)
			if got, err := f.Read(); err != nil || !slices.Equal(got.Lanes, want.Lanes) {
				t.Errorf("the journal of lane %d is %+v, %v; want %+v", lane, got, err, want)
			}
		}
		// Another host takes what lane 3 had.
		w.clock.Advance(window + wait)
		thief := w.host("B").startFor(had[3])
		if thief.worker() != had[3] {
			t.Fatalf("the other host holds %d, want %d", thief.worker(), had[3])
		}
		thief.issueAll()
		two.crash()

		must.Do(t, thief.Shut(t.Context()))
		again := h.startLanes(4)
		if got := again.workers(); !slices.Equal(got, had) {
			t.Errorf("four lanes hold %v, had %v", got, had)
		}
		if floor, mark := again.all[2].Holding().Floor, kept[2].Lanes[0].Mark; floor != mark {
			t.Errorf("lane 2 goes on above %d, want its journal's mark %d", floor, mark)
		}
		if floor, mark := again.all[3].Holding().Floor, kept[3].Lanes[0].Mark; floor <= mark {
			t.Errorf("lane 3 goes on above its journal's mark %d, and another has issued up to %d since", floor, mark)
		}
		w.clock.Advance(window + wait)
		for _, p := range again.all {
			must.Do(t, p.Publish(t.Context()))
		}
		again.issueAll()
	})
}

func (p *process) contentsOfLane() journal.Contents {
	p.t.Helper()
	return must.Get(p.disk.Read())(p.t)
}

// endless is a clock whose first sleep ends what it is for.
type endless struct {
	clockguard.Clock
	stop func()
}

func (e endless) Sleep(ctx context.Context, _ time.Duration) error { e.stop(); return ctx.Err() }

// When one lane learns that the cluster is no more, no lane issues any more.
func TestOneLaneFindsAnotherCluster(t *testing.T) {
	w := newFixture(t)
	l := w.host("A").startLanes(3)
	w.wipe()
	if err := l.lifecycle.Hold(t.Context(), 1); !errors.Is(err, coord.ErrOtherCluster) {
		t.Fatalf("lane 1 ended with %v", err)
	}
	for i, p := range l.all {
		if lane := p.inUse(); !lane.Closed() {
			t.Errorf("lane %d is open", i)
		}
	}
}
