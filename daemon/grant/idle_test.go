package grant_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/generator"
)

// The times of the tests of idle holders: a sixth of the window is longer than a publish.
var idleTiming = grant.Timing{Window: 6 * time.Second, Publish: 30 * time.Millisecond, Step: step, Idle: 75 * time.Millisecond}

// idler is a holder whose two loops run on the clock.
type idler struct {
	*process
	extends int
	stop    func()
}

// idler starts a holder and its loops, with every pause as long as random says.
func (w *fixture) idler(random float64) *idler {
	w.t.Helper()
	h := w.host("I")
	h.timing, h.random = &idleTiming, func() float64 { return random }
	i := &idler{process: h.start()}
	i.coord.before = func(call string) error {
		if call == "extend" {
			i.extends++
		}
		return nil
	}
	i.run()
	return i
}

// run runs the loops.
func (i *idler) run() {
	ctx, stop := context.WithCancel(i.t.Context())
	ended := make(chan error, 2)
	go func() { ended <- i.Hold(ctx) }()
	go func() { ended <- i.Mark(ctx) }()
	i.stop = func() {
		stop()
		if err := errors.Join(<-ended, <-ended); err != nil {
			i.t.Error(err)
		}
		i.stop = func() {}
	}
	i.t.Cleanup(func() { i.stop() })
}

// pass lets time pass, in steps so small that no loop is late.
func (i *idler) pass(d time.Duration) {
	for range d / (step / 4) {
		i.fixture.clock.BlockUntil(2)
		i.fixture.clock.Advance(step / 4)
	}
	i.fixture.clock.BlockUntil(2)
}

// rest lets time pass until nobody has asked for so long that the holder is idle, and the record
// has the mark.
func (i *idler) rest() {
	i.t.Helper()
	i.pass(2*idleTiming.Idle + 2*idleTiming.Publish)
	if !i.Holding().Idle {
		i.t.Fatalf("nobody has asked for %v, and the holder is not idle: %+v", 2*idleTiming.Idle, i.Holding())
	}
	if err := i.Condition(); err != nil {
		i.t.Fatalf("an idle holder says: %v", err)
	}
}

// With the defaults, a window of 10 min, a thousand daemons make ten writes a second.
func TestAnIdleHolderExtendsOnceInASixthOfAWindow(t *testing.T) {
	w := newFixture(t)
	i := w.idler(0.5)
	i.rest()
	i.pass(idleTiming.Window)
	extends, writes, mark := i.extends, i.disk.writes, i.Holding().Mark
	const windows = 10
	i.pass(windows * idleTiming.Window)
	if n := i.extends - extends; n < 5*windows || n > 6*windows {
		t.Errorf("%d grants in %d windows, want one in a sixth of a window", n, windows)
	}
	if n := i.disk.writes - writes; n != 0 {
		t.Errorf("the journal was written %d times, and nobody asked", n)
	}
	if h := i.Holding(); h.Mark != mark {
		t.Errorf("the mark went from %d to %d, and nobody asked", mark, h.Mark)
	}
	if left := i.Holding().Granted - w.tick(); left < w.layout.TickAt(w.clock.Now().Wall+int64(idleTiming.Window*3/4))-w.tick() {
		t.Errorf("an idle holder has only %d ticks of its grant left", left)
	}
}

func TestTheFirstRequestAfterAnIdleSpellWaitsForOneWrite(t *testing.T) {
	w := newFixture(t)
	i := w.idler(0.5)
	i.rest()
	i.pass(2 * idleTiming.Window)
	writes, extends := i.disk.writes, i.extends
	if out := i.take(); out != generator.AboveCeiling {
		t.Fatalf("a request was answered %v before the mark was on disk", out)
	}
	begun, tried := make(chan struct{}), make(chan struct{})
	i.disk.during = func() { close(begun); <-tried }
	i.ExtendNow()
	<-begun
	if out := i.take(); out != generator.AboveCeiling {
		t.Errorf("a request was answered %v while the mark was written", out)
	}
	close(tried)
	w.until("the first ID", func(context.Context) (bool, error) { return i.take() == generator.Issued, nil })
	if mark := i.onDisk().Mark; i.Holding().Issued > mark {
		t.Errorf("tick %d was issued, and the mark on disk is %d", i.Holding().Issued, mark)
	}
	w.clock.BlockUntil(2)
	if n := i.disk.writes - writes; n != 1 {
		t.Errorf("the first request took %d writes of the journal", n)
	}
	if i.extends != extends {
		t.Error("the first request had the grant extended at once: all daemons that are asked at one moment would")
	}
	// The record gets the mark within a publish, so that no journal of before is believed for longer.
	i.pass(idleTiming.Publish)
	if i.extends == extends {
		t.Error("the mark is not published after the first request")
	}
	if h := i.Holding(); h.Idle {
		t.Error("a holder is idle just after a request")
	}
}

func TestAHolderIsNotIdleWhileAnythingIsIssued(t *testing.T) {
	w := newFixture(t)
	i := w.idler(0.5)
	i.rest()
	i.ExtendNow()
	w.until("the first ID", func(context.Context) (bool, error) { return i.take() == generator.Issued, nil })
	for range 40 {
		i.pass(idleTiming.Idle / 2)
		if out := i.take(); out != generator.Issued {
			t.Fatalf("a request was answered %v, although one came every %v", out, idleTiming.Idle/2)
		}
	}
}

// Whatever may have been issued is at or below the mark, and a journal with a lower one is refused
// only if the record has it.
func TestAnIdleHolderRestsOnlyOnceTheRecordHasTheMark(t *testing.T) {
	w := newFixture(t)
	i := w.idler(0.5)
	i.rest()
	if published, mark := i.record().Mark, i.onDisk().Mark; published != mark {
		t.Errorf("the record has the mark %d, and %d is on disk", published, mark)
	}
}

// What the first pause of an idle holder is goes by chance, from a publish to a sixth of the
// window.
func TestHoldersThatGoIdleTogetherDoNotPublishTogether(t *testing.T) {
	first := func(random float64) (took time.Duration) {
		w := newFixture(t)
		i := w.idler(random)
		i.rest()
		for extends := i.extends; i.extends == extends; took += step / 4 {
			i.pass(step / 4)
		}
		return took
	}
	if early, late := first(0.6), first(0.99); late-early < idleTiming.Window/6/4 {
		t.Errorf("two holders publish %v and %v after they went idle", early, late)
	}
}

func TestAnIdleHolderWhoseGrantHasEndedSaysSo(t *testing.T) {
	w := newFixture(t)
	i := w.idler(0.5)
	i.rest()
	i.stop()
	i.coord.before = func(string) error { return errCut }
	i.fixture.clock.Advance(2 * idleTiming.Window)
	if h := i.Holding(); h.Idle {
		t.Errorf("can be asked after its grant has ended, it says: %+v", h)
	}
	if i.Condition() == nil {
		t.Error("nothing is said of a grant that has ended")
	}
}

// A lane waits for its floor: until it has its first mark, nobody could tell that it can issue.
func TestALaneGetsItsFirstMarkUnasked(t *testing.T) {
	w := newFixture(t)
	h := w.host("I")
	h.timing = &idleTiming
	h.start().crash()
	const back = 2 * time.Second
	w.clock.Step(-back) // the floor is ahead by so much
	p := h.start()
	i := &idler{process: p}
	i.run()
	i.pass(back + 2*step)
	if lane := i.inUse(); lane.Ceiling() <= lane.Floor() {
		t.Errorf("the clock has come to the floor, and the lane's ceiling is still there: %+v", i.Holding())
	}
}
