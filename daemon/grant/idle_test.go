package grant_test

import (
	"context"
	"testing"
	"time"

	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// The times of the tests of holders whose loop runs: a window is many publishes.
var loopTiming = grant.Timing{Window: 4 * time.Second, Publish: 100 * time.Millisecond}

// looping is a holder whose loop runs on the clock.
type looping struct {
	*process
	extends int
	stop    func()
}

// looping starts a holder and its loop, with every pause as long as random says.
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

// run runs the loop.
func (l *looping) run() {
	ctx, stop := context.WithCancel(l.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Hold(ctx) }()
	l.stop = func() {
		stop()
		must.Do(l.t, <-ended)
		l.stop = func() {}
	}
	l.t.Cleanup(func() { l.stop() })
}

// pass lets time pass, in steps so small that the loop is not late.
func (l *looping) pass(d time.Duration) {
	each := min(l.timing.Publish/20, 250*time.Millisecond)
	for range d / each {
		l.fixture.clock.BlockUntil(1)
		l.fixture.clock.Advance(each)
	}
	l.fixture.clock.BlockUntil(1)
}

// rest lets time pass until the record has all that was issued.
func (l *looping) rest() {
	l.t.Helper()
	l.pass(2 * l.timing.Publish)
	if err := l.Condition(); err != nil || l.record().Issued != l.Holding().Issued {
		l.t.Fatalf("nothing was issued for %v, and the holder says %v, %+v", 2*l.timing.Publish, err, l.Holding())
	}
}

// With the defaults it extends each 5 min, so a thousand daemons make four writes a second.
func TestWhoIssuesNothingExtendsWhenHalfIsLeft(t *testing.T) {
	w := newFixture(t)
	defaults := grant.Timing{Window: 10 * time.Minute, Publish: 10 * time.Second}
	l := w.loopingWith(defaults, 0)
	for range 2 * defaults.Window / defaults.Publish { // until a grant reaches as far as it may
		l.pass(defaults.Publish)
	}
	l.rest()
	extends := l.extends
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
}

// What is issued is in the record a publish later: once, and nothing follows.
func TestWhatWasIssuedIsPublishedOnce(t *testing.T) {
	l := newFixture(t).looping(0.5)
	l.rest()
	extends := l.extends
	if out := l.take(); out != generator.Issued {
		t.Fatalf("a request after a rest was answered %v", out)
	}
	if l.extends != extends {
		t.Error("the first request had the grant extended at once: all daemons that are asked at one moment would")
	}
	l.pass(l.timing.Publish + step)
	if got, want := l.record().Issued, l.Holding().Issued; got != want {
		t.Errorf("a publish later the record says that tick %d was issued last, and it was %d", got, want)
	}
	l.pass(loopTiming.Window / 4)
	if n := l.extends - extends; n != 1 {
		t.Errorf("one ID had %d grants follow, want 1", n)
	}
}

func TestWhoIssuesExtendsEachPublish(t *testing.T) {
	l := newFixture(t).looping(0.5)
	l.rest()
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

func TestAHolderWhoseGrantHasEndedSaysSo(t *testing.T) {
	l := newFixture(t).looping(0.5)
	l.rest()
	l.stop()
	l.fixture.clock.Advance(2 * loopTiming.Window)
	l.says(l.Condition(), "the grant of worker ID", "has not answered yet")
}

// The lane in use is the one that is being left until the other is granted, which may take a while:
// the coordinator may be gone.
func TestALaneThatIsBeingLeftServesOn(t *testing.T) {
	w := newFixture(t)
	p := w.host("J").start()
	old := p.inUse()
	p.fail("extend")
	must.Fail(t, p.Acquire(t.Context(), true), errCut)
	for range 3 {
		w.clock.Advance(2 * step)
		if out := p.take(); out != generator.Issued || p.inUse() != old {
			t.Fatalf("a request was answered %v, from worker ID %d", out, p.inUse().Worker())
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

// Where the node cannot be made, that is tried again within a publish.
func TestAClaimThatCannotBeMadeAgainIsTriedAgain(t *testing.T) {
	l := newFixture(t).looping(0.5)
	l.rest()
	before, refused := l.Holding(), 0
	l.coord.making = func() error { refused++; return errCut }
	l.revoke()
	l.SessionExpired()
	l.pass(loopTiming.Publish)
	if refused == 0 || l.Holding().Claimed {
		t.Fatalf("refused %d times, and it holds %+v; the case is void", refused, l.Holding())
	}
	l.coord.making = nil
	l.pass(2 * loopTiming.Publish)
	if now := l.Holding(); !now.Claimed || now.Worker != before.Worker || now.Claim == before.Claim || now.Opening != before.Opening {
		t.Errorf("two publishes after a node could not be made it holds %+v, and had %+v", now, before)
	}
}
