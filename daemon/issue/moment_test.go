package issue

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/age"
)

// remembering is a moment of the machine's clock, of a layout with that tick.
func remembering(t *testing.T, layout string) *moment {
	t.Helper()
	l, err := generator.ParseLayout(layout)
	if err != nil {
		t.Fatal(err)
	}
	m := new(moment)
	m.on(clockguard.System{}, l)
	m.layout = l // also where the counter is not trusted: its life is 0 then
	return m
}

const quickTicks = "time=41@1ms,worker=10,sequence=12;epoch=2024-01-01"

// Whatever is remembered is the tick that the clock shows, also while goroutines learn and look at once.
func TestMomentIsTheClocks(t *testing.T) {
	for _, layout := range []string{quickTicks, "time=31@1s,worker=10,sequence=22;epoch=2024-01-01"} {
		m := remembering(t, layout)
		tick := func() generator.Tick { return m.layout.TickAt(time.Now().UnixNano()) }
		var remembered atomic.Int64
		var all sync.WaitGroup
		trusted := age.NewGauge().Trusts()
		// A machine that is busy with other things may let this one do next to nothing meanwhile.
		goesOn := func(since time.Duration) bool {
			return since < 100*time.Millisecond || trusted && remembered.Load() == 0 && since < time.Minute && !t.Failed()
		}
		for range 4 {
			all.Go(func() {
				for begun := time.Now(); goesOn(time.Since(begun)); {
					before := tick()
					at, ok := m.now()
					after := tick()
					switch {
					case ok && (at < before || at > after):
						t.Errorf("%s: the clock showed %d, then %d was remembered, then it showed %d", layout, before, at, after)
						return
					case ok:
						remembered.Add(1)
					default:
						m.saw(after)
					}
				}
			})
		}
		all.Wait()
		if trusted && m.gauge.Trusts() && remembered.Load() == 0 {
			t.Errorf("%s: nothing was ever remembered", layout)
		}
	}
}

// One request of a tick alone has nothing remembered, and the second has.
func TestMomentIsForRequestsThatFollowEachOther(t *testing.T) {
	m := remembering(t, quickTicks)
	for tick := generator.Tick(1); tick < 10; tick++ {
		if m.saw(tick); m.version.Load() != 0 {
			t.Fatalf("the first request of tick %d has it remembered", tick)
		}
	}
	if m.saw(9); m.version.Load() != 2 {
		t.Error("the second request of a tick does not have it remembered")
	}
}

// Where the counter is not trusted, or not any more, no request pays for trying.
func TestMomentWithoutACounter(t *testing.T) {
	m := remembering(t, quickTicks)
	m.gauge = new(age.Gauge)
	m.saw(9)
	m.saw(9)
	tried := m.version.Load()
	m.saw(9)
	if tried != 2 || m.version.Load() != tried {
		t.Errorf("tried %d times, then %d times", tried/2, m.version.Load()/2)
	}
	if _, ok := m.now(); ok {
		t.Error("something is remembered")
	}
}

// What is written just now is not read.
func TestMomentBeingWritten(t *testing.T) {
	m := remembering(t, quickTicks)
	m.tick.Store(5)
	m.born.Store(age.Cycles())
	m.life.Store(1 << 62)
	if tick, ok := m.now(); !ok || tick != 5 {
		t.Fatalf("remembered: %d, %v", tick, ok)
	}
	m.version.Store(1)
	if _, ok := m.now(); ok {
		t.Error("it is read while it is written")
	}
	m.version.Store(2)
	m.life.Store(0)
	if _, ok := m.now(); ok {
		t.Error("what has no life left is read")
	}
}

// Any clock but the machine's is asked each time: it may be set, in a drill, or made up.
func TestMomentOfAnotherClock(t *testing.T) {
	l, err := generator.ParseLayout(quickTicks)
	if err != nil {
		t.Fatal(err)
	}
	m := new(moment)
	m.on(clocktest.NewManual(l.Epoch().Add(time.Hour)), l)
	for range 3 {
		m.saw(7)
	}
	if _, ok := m.now(); ok || m.version.Load() != 0 {
		t.Error("another clock's tick is remembered")
	}
}
