package grant_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// The times of the tests of holders whose loops run: a window is many publishes.
var loopTiming = grant.Timing{Window: 4 * time.Second, Publish: 100 * time.Millisecond, Step: step}

// looping is a holder whose two loops run on the clock.
type looping struct {
	*process
	extends int
	stop    func()
}

// looping starts a holder and its loops, with every pause as long as random says.
func (w *fixture) looping(random float64) *looping {
	w.t.Helper()
	return w.loopingWith(loopTiming, random)
}

func (w *fixture) loopingWith(timing grant.Timing, random float64) *looping {
	w.t.Helper()
	h := w.host("I")
	h.timing, h.random = &timing, func() float64 { return random }
	l := &looping{process: h.start()}
	l.coord.before = func(call string) error {
		if call == "extend" {
			l.extends++
		}
		return nil
	}
	l.run()
	return l
}

// run runs the loops.
func (l *looping) run() {
	ctx, stop := context.WithCancel(l.t.Context())
	ended := make(chan error, 2)
	go func() { ended <- l.Hold(ctx) }()
	go func() { ended <- l.Mark(ctx) }()
	l.stop = func() {
		stop()
		must.Do(l.t, <-ended, <-ended)
		l.stop = func() {}
	}
	l.t.Cleanup(func() { l.stop() })
}

// pass lets time pass, in steps so small that no loop is late.
func (l *looping) pass(d time.Duration) {
	each := l.timing.Step / 4
	for range d / each {
		l.fixture.clock.BlockUntil(2)
		l.fixture.clock.Advance(each)
	}
	l.fixture.clock.BlockUntil(2)
}

// rest lets time pass until the mark has ended, and the record has all that was issued.
func (l *looping) rest() {
	l.t.Helper()
	l.pass(2 * l.timing.Publish)
	if err := l.Condition(); err != nil || !l.Unasked() {
		l.t.Fatalf("nobody has asked for %v, and the holder says %v, unasked: %v, %+v", 2*l.timing.Publish, err, l.Unasked(), l.Holding())
	}
}

// With the defaults it extends each 5 min, so a thousand daemons make four writes a second.
func TestWhoIsNotAskedWritesNoMarkAndExtendsWhenHalfIsLeft(t *testing.T) {
	w := newFixture(t)
	defaults := grant.Timing{Window: 10 * time.Minute, Publish: 10 * time.Second, Step: time.Second}
	l := w.loopingWith(defaults, 0)
	for range 2 * defaults.Window / defaults.Publish { // until a grant reaches as far as it may
		l.pass(defaults.Publish)
	}
	l.rest()
	extends, writes, mark := l.extends, l.disk.writes, l.Holding().Mark
	const windows = 12 // 2 h
	least := l.Holding().Granted - w.tick()
	for range windows * defaults.Window / defaults.Publish {
		l.pass(defaults.Publish)
		least = min(least, l.Holding().Granted-w.tick())
		if err := l.Condition(); err != nil {
			t.Fatalf("nobody asks, and the holder says: %v", err)
		}
	}
	if n := l.extends - extends; n < 2*windows-1 || n > 2*windows {
		t.Errorf("%d grants in %d windows, want one in half a window", n, windows)
	}
	if half := generator.Tick(defaults.Window / 2 / time.Millisecond); least < half {
		t.Errorf("only %d ticks of the grant were left, want half of them, %d", least, half)
	}
	if n := l.disk.writes - writes; n != 0 {
		t.Errorf("the journal was written %d times, and nobody asked", n)
	}
	if h := l.Holding(); h.Mark != mark {
		t.Errorf("the mark went from %d to %d, and nobody asked", mark, h.Mark)
	}
}

func TestTheFirstRequestAfterARestWaitsForOneWrite(t *testing.T) {
	w := newFixture(t)
	l := w.looping(0.5)
	l.rest()
	l.pass(2 * loopTiming.Window)
	writes, extends := l.disk.writes, l.extends
	if out := l.take(); out != generator.AboveCeiling {
		t.Fatalf("a request was answered %v before the mark was on disk", out)
	}
	begun, tried := make(chan struct{}), make(chan struct{})
	l.disk.during = func() { close(begun); <-tried }
	l.ExtendNow()
	<-begun
	if out := l.take(); out != generator.AboveCeiling {
		t.Errorf("a request was answered %v while the mark was written", out)
	}
	w.clock.Advance(time.Millisecond)
	close(tried)
	w.until("the first ID", func(context.Context) (bool, error) { return l.take() == generator.Issued, nil })
	if mark := l.onDisk().Mark; l.Holding().Issued > mark {
		t.Errorf("tick %d was issued, and the mark on disk is %d", l.Holding().Issued, mark)
	}
	w.clock.BlockUntil(2)
	if n := l.disk.writes - writes; n != 1 {
		t.Errorf("the first request took %d writes of the journal", n)
	}
	if l.extends != extends {
		t.Error("the first request had the grant extended at once: all daemons that are asked at one moment would")
	}
	// The record has what was issued within a publish, so that no journal of before is believed for
	// longer. Nothing else was issued: the mark is renewed once more, and all rests again.
	l.pass(loopTiming.Publish + step)
	if got, want := l.record().Issued, l.Holding().Issued; got != want {
		t.Errorf("a publish later the record says that tick %d was issued last, and it was %d", got, want)
	}
	l.pass(loopTiming.Window / 4)
	if n, m := l.extends-extends, l.disk.writes-writes; n != 1 || m != 2 || !l.Unasked() {
		t.Errorf("one ID had %d grants and %d writes of the journal follow, want 1 and 2; unasked: %v", n, m, l.Unasked())
	}
}

func TestWhoIsAskedRenewsTheMarkInTime(t *testing.T) {
	w := newFixture(t)
	l := w.looping(0.5)
	l.rest()
	l.ExtendNow()
	w.until("the first ID", func(context.Context) (bool, error) { return l.take() == generator.Issued, nil })
	extends := l.extends
	for range 40 {
		l.pass(step / 2)
		if out := l.take(); out != generator.Issued {
			t.Fatalf("a request was answered %v, although one came every %v", out, step/2)
		}
	}
	if n, want := l.extends-extends, int(40*step/2/loopTiming.Publish); n != want {
		t.Errorf("%d grants in %v, want one each %v", n, 40*step/2, loopTiming.Publish)
	}
}

// Whatever was issued is at or below the mark that the record has, so a journal with a lower one is
// refused.
func TestTheRecordHasAMarkAboveAllThatWasIssuedBeforeTheHolderRests(t *testing.T) {
	l := newFixture(t).looping(0.5)
	l.ExtendNow()
	for range 7 {
		l.pass(step / 2)
		l.take()
	}
	l.rest()
	if is := l.record(); is.Mark < l.Holding().Issued || is.Issued != l.Holding().Issued {
		t.Errorf("tick %d was issued, and the record has %d, and mark %d", l.Holding().Issued, is.Issued, is.Mark)
	}
}

// A grant is extended when half of it is left, or by chance up to a fifth of that before.
func TestHoldersThatWereGrantedTogetherDoNotExtendTogether(t *testing.T) {
	first := func(random float64) (took time.Duration) {
		l := newFixture(t).looping(random)
		l.rest()
		for extends := l.extends; l.extends == extends; took += step / 4 {
			l.pass(step / 4)
		}
		return took
	}
	if early, late := first(0.99), first(0); late-early < loopTiming.Window/2/6 {
		t.Errorf("two holders extend %v and %v after they were last asked", early, late)
	}
}

func TestAHolderWhoseGrantHasEndedUnaskedSaysSo(t *testing.T) {
	l := newFixture(t).looping(0.5)
	l.rest()
	l.stop()
	l.fixture.clock.Advance(2 * loopTiming.Window)
	if l.Unasked() {
		t.Errorf("can be asked after its grant has ended, it says: %+v", l.Holding())
	}
	l.says(l.Condition(), "the grant of worker ID", "has not answered yet") // and not that the disk has not
}

// A lane waits for its floor: until it has its first mark, nobody could tell that it can issue.
func TestALaneGetsItsFirstMarkUnasked(t *testing.T) {
	w := newFixture(t)
	h := w.host("I")
	h.timing = &loopTiming
	h.start().crash()
	const back = 2 * time.Second
	w.clock.Step(-back) // the floor is ahead by so much
	l := &looping{process: h.start()}
	l.run()
	l.pass(back + 2*step)
	if lane := l.inUse(); lane.Ceiling() <= lane.Floor() {
		t.Errorf("the clock has come to the floor, and the lane's ceiling is still there: %+v", l.Holding())
	}
}

// A disk that fails when somebody asks has stopped issuing since then, and not since the mark
// ended.
func TestAMarkThatEndedUnaskedHasStoppedNothing(t *testing.T) {
	w := newFixture(t)
	p := w.host("J").start()
	w.clock.Advance(4 * step)
	p.disk.full = true
	must.Fail(t, p.Renew(), errDisk)
	var c *condition.Condition
	if !errors.As(p.Condition(), &c) || !c.Stopped || c.Since.UnixNano() != w.clock.Now().Wall {
		t.Errorf("the disk has failed at %v, and the holder says %+v", time.Unix(0, w.clock.Now().Wall), c)
	}
}

func TestWhoseDiskFailsIsNotWellThoughNobodyAsks(t *testing.T) {
	w := newFixture(t)
	p := w.host("J").start()
	w.clock.Advance(step / 2)
	p.take()
	p.disk.full = true
	must.Fail(t, p.Holder.Renew(), errDisk)
	w.clock.Advance(step)
	if p.Unasked() {
		t.Error("a request would be served after one write, it says, and the disk fails")
	}
}

// The lane in use is the one that is being left until the other is granted, which may take a while:
// the coordinator may be gone.
func TestALaneThatIsBeingLeftIsRenewedAfterEachRest(t *testing.T) {
	w := newFixture(t)
	p := w.host("J").start()
	old := p.inUse()
	p.coord.before = func(call string) error {
		if call == "extend" {
			return errCut
		}
		return nil
	}
	must.Fail(t, p.Acquire(t.Context(), true), errCut)
	for range 3 {
		w.clock.Advance(2 * step)
		p.ExtendNow()
		must.Do(t, p.Holder.Renew())
		if out := p.take(); out != generator.Issued || p.inUse() != old {
			t.Fatalf("after a rest a request was answered %v, from worker ID %d", out, p.inUse().Worker())
		}
	}
}

// Who rests has little to say to the coordinator, and would learn late that its claim is lost.
func TestAClaimIsMadeAgainThoughNobodyAsks(t *testing.T) {
	w := newFixture(t)
	l := w.looping(0.5)
	l.rest()
	before := l.Holding()
	l.revoke()
	l.SessionExpired()
	l.pass(loopTiming.Publish)
	if now := l.Holding(); now.Worker != before.Worker || now.Claim == before.Claim || l.record().Opening != now.Opening {
		t.Errorf("a publish after its session expired it holds %+v, and had %+v", now, before)
	}
	extends := l.extends
	l.pass(loopTiming.Window / 4)
	if l.extends != extends {
		t.Error("it does not rest any more")
	}
}
