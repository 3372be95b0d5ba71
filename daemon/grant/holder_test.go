package grant_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/logging"
	"github.com/flakeward/flakeward/internal/must"
)

// record is the worker ID's record as the coordinator has it; the worker ID must be held.
func (p *process) record() coord.Member {
	p.t.Helper()
	members := must.Get(p.coord.Members(p.t.Context()))(p.t)
	for _, m := range members {
		if m.Worker == p.worker() {
			return m
		}
	}
	p.t.Fatalf("nobody holds worker ID %d: %+v", p.worker(), members)
	return coord.Member{}
}

func (p *process) onDisk() journal.Entry {
	p.t.Helper()
	contents := must.Get(p.dir.Read())(p.t)
	return contents.Entries[len(contents.Entries)-1]
}

// take takes one number at the clock's tick, or none.
func (p *process) take() generator.Outcome {
	run, out := p.inUse().Take(0, p.tick(), 1)
	if run.N > 0 {
		p.note(run.First)
	}
	return out
}

// Whoever looks while an answer is being taken in sees no grant that ends for want of that answer.
func TestAGrantIsNotSeenToEndForWhatItsAnswerHasMended(t *testing.T) {
	p := newFixture(t).host("J").boot()
	looked := 0
	p.changed = func() {
		looked++
		var c *condition.Condition
		if errors.As(p.Condition(), &c) && !c.Stopped {
			t.Errorf("issuing is possible until %v, and %s ends it", c.Ends, c.Code)
		}
	}
	p.attach()
	p.acquire()
	if looked == 0 {
		t.Error("nobody has looked; the test is void")
	}
}

func TestTheLaneIsHeldByTheNearerOfTheTwoCeilings(t *testing.T) {
	w := newFixture(t)
	p := w.host("J").start()
	if got, want := p.lane.Ceiling(), w.tick()+generator.Tick(step/time.Millisecond); got != want {
		t.Errorf("the lane's ceiling is %d, want a step ahead, %d", got, want)
	}
	if e := p.onDisk(); e.Mark != p.lane.Ceiling() {
		t.Errorf("the journal has mark %d, with the lane at %d and the clock at %d", e.Mark, p.lane.Ceiling(), w.tick())
	}
	// Without a publish the marks go on to the end of the grant and no further.
	for range 100 {
		w.clock.Advance(step / 4)
		must.Do(t, p.Renew())
	}
	if got := p.record().Ceiling; p.lane.Ceiling() != got || p.onDisk().Mark != got {
		t.Errorf("lane %d and journal %d, want both at the record's ceiling %d", p.lane.Ceiling(), p.onDisk().Mark, got)
	}
}

func TestRenewLeavesTheDiskAloneWhileHalfAStepIsLeft(t *testing.T) {
	w := newFixture(t)
	p := w.host("J").start()
	before := p.disk.writes
	w.clock.Advance(step/2 - time.Millisecond)
	if err := p.Renew(); err != nil || p.disk.writes != before {
		t.Errorf("%d writes, error %v, want none before half a step is over", p.disk.writes-before, err)
	}
	w.clock.Advance(time.Millisecond)
	if err := p.Renew(); err != nil || p.disk.writes != before+1 {
		t.Errorf("%d writes, error %v, want one once half a step is over", p.disk.writes-before, err)
	}
}

func TestFullDiskStopsTheLaneAtTheLastMark(t *testing.T) {
	for _, landed := range []bool{false, true} {
		w := newFixture(t)
		p := w.host("J").start()
		mark := p.onDisk().Mark
		p.disk.full, p.disk.unsure = !landed, landed
		w.clock.Advance(step)
		must.Fail(t, p.Renew(), errDisk)
		if p.lane.Ceiling() != mark {
			t.Errorf("the lane may issue up to %d, want the last mark that is known to be on disk, %d", p.lane.Ceiling(), mark)
		}
		if !errors.Is(p.Condition(), errDisk) {
			t.Errorf("the trouble is %v, want the disk", p.Condition())
		}
		w.clock.Advance(time.Millisecond)
		if out := p.take(); out != generator.AboveCeiling {
			t.Errorf("a request above the mark met %v", out)
		}
		p.disk.full, p.disk.unsure = false, false
		must.Do(t, p.Renew())
		if out := p.take(); out != generator.Issued {
			t.Errorf("with room again a request met %v", out)
		}
		if p.Condition() != nil {
			t.Errorf("the trouble is still %v", p.Condition())
		}
	}
}

// Nothing has failed yet, but an answer is late: a request is told which one, and since when.
func TestConditionBeforeAnythingFailed(t *testing.T) {
	w := newFixture(t)
	p := w.host("J").start()
	if err := p.Condition(); err != nil {
		t.Fatalf("the trouble is %v, want none", err)
	}
	w.clock.Advance(step + time.Millisecond)
	if err := p.Condition(); err != nil {
		t.Errorf("nobody has asked since the mark ended, and the trouble is %v, want none", err)
	}
	w.clock.Advance(step)
	p.ExtendNow()
	p.says(p.Condition(), "journal's next mark", "since "+w.layout.StartOf(w.tick()).UTC().Format(logging.TimeFormat))
	w.clock.Advance(step)
	p.ExtendNow()
	p.says(p.Condition(), "since "+w.layout.StartOf(w.tick()-generator.Tick(step/time.Millisecond)).UTC().Format(logging.TimeFormat))
	must.Do(t, p.Renew())
	if err := p.Condition(); err != nil {
		t.Errorf("with the mark on disk the trouble is %v, want none", err)
	}
	w.clock.Advance(window)
	must.Do(t, p.Renew())
	ended := w.layout.StartOf(p.Holding().Granted + 1).UTC().Format(logging.TimeFormat)
	p.says(p.Condition(), "has not answered yet", coordAt, "since "+ended)
	must.Do(t, p.Publish(t.Context()))
	if err := p.Condition(); err != nil {
		t.Errorf("granted again, the trouble is %v, want none", err)
	}
}

func TestStateDirectoryTakenAwayStopsTheLane(t *testing.T) {
	w := newFixture(t)
	h := w.host("J")
	p := h.start()
	must.Do(t, os.Rename(h.dir, h.dir+"-moved"))
	must.Do(t, os.Mkdir(h.dir, 0o700))
	w.clock.Advance(step)
	must.Fail(t, p.Renew(), journal.ErrMoved)
	if !p.lane.Closed() {
		t.Error("the lane goes on")
	}
}

// An Extend whose reply was lost raises nothing here, and the next one goes on.
func TestLostReplyRaisesNothing(t *testing.T) {
	w := newFixture(t)
	p := w.host("J").start()
	granted := p.Holding().Granted
	w.clock.Advance(window / 2)
	p.coord.loseExtend = true
	must.Fail(t, p.Publish(t.Context()), errCut)
	if got := p.Holding().Granted; got != granted {
		t.Errorf("the grant went from %d to %d on a write whose outcome is unknown", granted, got)
	}
	if p.CanAcquire() {
		t.Error("a coordinator that does not answer is taken for one that lends")
	}
	p.coord.loseExtend = false
	must.Do(t, p.Publish(t.Context()))
	if got, want := p.Holding().Granted, w.tick()+generator.Tick(window/time.Millisecond); got != want || !p.CanAcquire() {
		t.Errorf("granted %d, want %d", got, want)
	}
}

func TestReLeaseServesAtOnceAndGivesBack(t *testing.T) {
	w := newFixture(t).used(0)
	h := w.host("J")
	p := h.startFor(0)
	w.clock.Advance(time.Millisecond)
	p.take()
	first, last := p.worker(), w.tick()
	w.clock.Step(-time.Hour)
	must.Do(t, p.Acquire(t.Context(), true))
	if p.worker() == first {
		t.Fatalf("still worker ID %d", first)
	}
	if out := p.take(); out != generator.Issued {
		t.Errorf("the first request met %v", out)
	}
	if e := p.onDisk(); e.Worker != p.worker() {
		t.Errorf("the journal's entry is for worker ID %d", e.Worker)
	}
	// What was given back is free, and its record says where the next holder may begin.
	other := w.host("K").bootFor(first)
	w.clock.Step(time.Hour)
	other.attach()
	other.acquire()
	if other.worker() != first || other.Holding().Floor != last {
		t.Errorf("the next holder has worker ID %d and floor %d, want %d and %d", other.worker(), other.Holding().Floor, first, last)
	}
}

// Why a worker ID was not granted more is said with the worker ID, once.
func TestAWorkerIDIsNamedOnce(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		p := w.host("J").start()
		p.passedOn()
		if err := p.Publish(t.Context()); !errors.Is(err, coord.ErrLost) || strings.Count(err.Error(), "worker ID 0") != 1 {
			t.Errorf("Publish: %v, want that the claim on worker ID 0 is lost, and that worker ID once", err)
		}
	})
}

// An opening that could not be journaled is not given back: the lane before it may still issue
// below the record's ceiling.
func TestOpeningWithoutAJournalIsKept(t *testing.T) {
	w := newFixture(t)
	p := w.host("J").start()
	p.passedOn()
	must.Fail(t, p.Publish(t.Context()), coord.ErrLost)
	p.disk.full = true
	must.Fail(t, p.Acquire(t.Context(), false), errDisk)
	claims := func() (all []coord.Member) {
		return slices.DeleteFunc(must.Get(p.coord.Members(t.Context()))(t), func(m coord.Member) bool { return m.Incarnation != p.started })
	}
	kept := claims()
	p.disk.full = false
	p.acquire()
	if now := claims(); len(kept) != 1 || len(now) != 1 || now[0].Opening != kept[0].Opening || now[0].Opening != p.Holding().Opening {
		t.Errorf("the claims were %+v, are %+v, and the journal's opening is %s", kept, now, p.Holding().Opening)
	}
	p.issueAll()
}

func TestAllWorkerIDsHeld(t *testing.T) {
	w := newFixture(t)
	var held []*process
	for range w.layout.Workers() {
		p := w.host(string(rune('A' + len(held)))).start()
		p.issueAll()
		held = append(held, p)
	}
	late := w.host("late").boot()
	late.attach()
	var full *coord.ExhaustedError
	if err := late.Acquire(t.Context(), false); !errors.As(err, &full) || full.Held != len(held) {
		t.Fatalf("the claim ended with %v, want how many are held", err)
	}
	if late.CanAcquire() {
		t.Error("a worker ID is said to be had")
	}
	must.Do(t, held[0].Shut(t.Context()))
	w.clock.Advance(window)
	late.acquire()
	if late.worker() != held[0].worker() {
		t.Errorf("has worker ID %d, want the one given back, %d", late.worker(), held[0].worker())
	}
	late.issueAll()
}

// The loops renew, publish and re-lease by themselves, in the clock's time.
func TestLoops(t *testing.T) {
	w := newFixture(t)
	p := w.host("J").boot()
	p.attach()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- p.Mark(ctx) }()
	go func() { ended <- p.Hold(ctx) }()
	w.clock.BlockUntil(2) // both have done what is due and sleep
	first := p.lane
	if first == nil || first.Ceiling() <= w.tick() {
		t.Fatal("no lane that may issue")
	}
	for range 40 {
		w.clock.Advance(step / 4)
		w.clock.BlockUntil(2)
		if out := p.take(); out == generator.AboveCeiling {
			t.Errorf("at tick %d a request would wait: the ceiling is %d", w.tick(), first.Ceiling())
		}
	}
	if out := p.take(); out != generator.Issued && out != generator.Full {
		t.Errorf("a request met %v", out)
	}
	w.clock.Step(-time.Hour)
	p.ReLease(first)
	for p.inUse() == first {
		w.clock.BlockUntil(2)
		w.clock.Advance(time.Millisecond)
	}
	if !first.Closed() && p.worker() == first.Worker() {
		t.Error("the first lane goes on")
	}
	stop()
	must.Do(t, <-ended, <-ended)
}

func (p *process) inUse() *generator.Lane {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lane
}
