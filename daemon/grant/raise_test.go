package grant_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/logging"
	"github.com/flakeward/flakeward/internal/must"
)

// save reads a backup of the coordinator.
func (w *fixture) save() (restore func()) {
	w.t.Helper()
	put := must.Get(w.tree.save(w.t.Context()))(w.t)
	return func() {
		w.t.Helper()
		must.Do(w.t, put(w.t.Context()))
	}
}

// operate does what an operator's command does.
func (w *fixture) operate(do func(context.Context, coord.Operator) error) {
	w.t.Helper()
	c, err := w.tree.open(coord.Identity{Incarnation: "operator"})
	must.Do(w.t, err)
	operator := c.(coord.Operator)
	if _, err = operator.Inspect(w.t.Context()); err == nil {
		err = do(w.t.Context(), operator)
	}
	coordtest.Close(w.t, c)
	must.Do(w.t, err)
}

// raise does what `flakeward cluster raise` does.
func (w *fixture) raise(to generator.Tick) (raised coord.Raised) {
	w.t.Helper()
	w.operate(func(ctx context.Context, o coord.Operator) (err error) {
		raised, err = o.Raise(ctx, to)
		return err
	})
	return raised
}

// issueFrom lets time pass until the clock is beyond the tick, has the process granted more, and
// issues all that it may.
func (p *process) issueFrom(tick generator.Tick) {
	p.t.Helper()
	if left := time.Duration(p.layout.UnixNanos(tick+1) - p.clock.Now().Wall); left > 0 {
		p.clock.Advance(left)
	}
	must.Do(p.t, p.Publish(p.t.Context()))
	if p.issueAll() == 0 {
		p.t.Errorf("%s can issue nothing after tick %d", p.name, tick)
	}
}

// While all wait for the time that marks were raised to, each request asks for another worker ID,
// in vain, and the grant is extended all the same. The log and the condition do not go to and fro.
func TestWaitingForTheRaisedTimeIsToldOnce(t *testing.T) {
	w, log := newFixture(t), new(bytes.Buffer)
	h := w.host("A")
	h.log = logging.New(&hclog.LoggerOptions{Output: log, DisableTime: true})
	a := h.start()
	w.raise(a.Holding().Granted + 5000)
	must.Fail(t, a.Publish(t.Context()), coord.ErrLost)
	w.clock.Advance(window / 4)
	a.acquire()
	told, began := log.Len(), time.Unix(0, w.clock.Now().Wall)
	var first *condition.Condition
	if !errors.As(a.Condition(), &first) || first.Code != condition.FloorAhead || !first.Since.Equal(began) {
		t.Fatalf("the condition is %v, want %s since %v", a.Condition(), condition.FloorAhead, began)
	}
	for range 5 {
		var ahead *coord.AheadError
		if err := a.Acquire(t.Context(), true); !errors.As(err, &ahead) {
			t.Fatalf("another worker ID: %v, want a *coord.AheadError", err)
		}
		if got := a.Condition(); got == nil || got.Error() != first.Error() {
			t.Errorf("the condition is %v, and was %v", got, first)
		}
		if a.CanAcquire() {
			t.Error("another worker ID is asked for again at once")
		}
		w.clock.Advance(window / 2)
		must.Do(t, a.Publish(t.Context()))
	}
	if more := log.String()[told:]; more != "" {
		t.Errorf("while it waits, the log says\n%s", more)
	}
}

// A backup in which the holder is J, who has crashed; K opens the worker ID and issues; then the
// backup is put back and the marks are raised. J's next start begins above them.
func TestScheduleRaisedMarksAfterACrash(t *testing.T) {
	for _, late := range []bool{false, true} { // whether the clock has passed what the marks are raised to
		onEach(t, func(t *testing.T, w *fixture) {
			hostJ, j := w.crashed()
			restore := w.save()
			k := w.host("K").stealFrom(j)
			k.issueAll()
			w.clock.Advance(window / 2)
			must.Do(t, k.Publish(t.Context()))
			k.issueAll()
			highest := k.Holding().Granted
			k.crash()
			k.close()

			restore()
			to := highest + 100
			if raised := w.raise(to); raised.To != to || raised.Highest >= highest {
				t.Errorf("the raise did %+v, want that the backup's ceilings are at %d", raised, to)
			}
			if late {
				w.clock.Advance(window + 100*time.Millisecond)
			}
			again := hostJ.start()
			if h := again.Holding(); h.Floor != to || late && h.Worker != j.worker() {
				t.Errorf("J has worker ID %d above %d, want %d above what all were raised to, %d", h.Worker, h.Floor, j.worker(), to)
			}
			if issued := again.issueAll(); (issued > 0) != late {
				t.Errorf("late %v: J issues %d IDs", late, issued)
			}
			w.clock.Advance(step)
			again.issueFrom(to)
		})
	}
}

// Marks raised under daemons that serve: their next publish finds the claim lost, and what they
// claim anew begins above, as a fresh host's does. None of them ever issues what another has.
func TestScheduleRaisedUnderLiveDaemons(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		a, b := w.host("A").start(), w.host("B").start()
		a.issueAll()
		b.issueAll()
		lane := a.inUse()
		to := max(a.Holding().Granted, b.Holding().Granted) + 300
		w.raise(to)
		fresh := w.host("C").start()
		if floor := fresh.Holding().Floor; floor != to {
			t.Errorf("a fresh host issues above %d, want %d", floor, to)
		}

		must.Fail(t, a.Publish(t.Context()), coord.ErrLost)
		if lane.Closed() {
			t.Error("the lane ended before its grant did")
		}
		a.acquire()
		if h := a.Holding(); h.Floor != to || h.Opening == "" || a.inUse() == lane || !lane.Closed() {
			t.Errorf("goes on with %+v, the lane is the same: %v, closed: %v; want another one above %d", h, a.inUse() == lane, lane.Closed(), to)
		}
		if a.issueAll() != 0 {
			t.Error("issued before the clock has passed what all were raised to")
		}
		at := w.layout.StartOf(to + 1).UTC().Format(time.RFC3339)
		if err := a.Condition(); err == nil || !strings.Contains(err.Error(), "no ID before "+at) {
			t.Errorf("the trouble is %v, want that there is no ID before %s", err, at)
		}

		// B finds out by itself.
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- b.Hold(ctx) }()
		w.until("B begins above what all were raised to", func(context.Context) (bool, error) {
			w.clock.BlockUntil(1)
			w.clock.Advance(window / 8)
			return b.Holding().Floor == to, nil
		})
		w.clock.BlockUntil(1)
		stop()
		must.Do(t, <-ended)
		for _, p := range []*process{a, b, fresh} {
			p.issueFrom(to)
		}
		if err := a.Condition(); err != nil {
			t.Errorf("the trouble is still %v", err)
		}
	})
}

// A server that lags tells an old raise, which cuts the lane although its grant is extended. Then
// it is changed for another, or, where all are held, opened anew: it would stay cut for ever, and
// nobody would know.
func TestALaneThatWasCutByAnOldRaiseIsChanged(t *testing.T) {
	for name, refused := range map[string]int{"others are free": -1, "all are held": 0, "all are held, and the release fails": 2} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				alone, refused := refused < 0, refused
				for i := 1; !alone && i < w.layout.Workers(); i++ {
					w.host(fmt.Sprint("R", i)).start()
				}
				a := w.host("A").start()
				a.coord.before = func(call string) error {
					if call == "release" && refused > 0 {
						refused--
						return errCut
					}
					return nil
				}
				a.issueAll()
				had, lane := a.Holding(), a.inUse()
				a.Learn(func() coord.Cluster {
					return coord.Cluster{Raise: coord.Raise{ClusterEpoch: "before", Floor: had.Floor}}
				})
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- a.Hold(ctx) }()
				w.until("another lane is in use", func(context.Context) (bool, error) {
					w.clock.BlockUntil(1)
					w.clock.Advance(window / 8)
					return a.inUse() != nil && a.inUse() != lane, nil
				})
				w.clock.BlockUntil(1)
				stop()
				must.Do(t, <-ended)
				if h := a.Holding(); h.Worker == had.Worker == alone || h.Opening == had.Opening || !lane.Closed() {
					t.Errorf("goes on with %+v, had %+v; the lane before is closed: %v", h, had, lane.Closed())
				}
			})
		})
	}
}

// Two raises while a worker ID is claimed: the lane in use was opened before the first, and is cut
// there, where a holder that the second finds may have begun.
func TestTheFirstOfTwoRaisesCutsTheLane(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		a := w.host("A").start()
		a.issueAll()
		lane := a.inUse()
		first := a.Holding().Granted - 1
		w.raise(first)
		w.clock.Advance(time.Duration(w.layout.UnixNanos(first+1) - w.clock.Now().Wall)) // or no floor is near enough
		a.coord.claimed = func() {
			a.coord.claimed = nil
			w.raise(first + 1000)
		}
		_ = a.Acquire(t.Context(), true) // whether it finds one is another matter
		if a.coord.claimed != nil {
			t.Fatal("no opening was tried")
		}
		if got := lane.Ceiling(); got > first {
			t.Errorf("the lane may issue up to %d, and all were raised to %d first", got, first)
		}
	})
}
