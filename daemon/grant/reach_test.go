package grant_test

import (
	"context"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// TestAGrantReachesAsFarAsItsProcessIsOld follows one process through its life: what a crash would
// cost at each age.
func TestAGrantReachesAsFarAsItsProcessIsOld(t *testing.T) {
	for _, c := range []struct {
		name  string
		age   time.Duration // of the processes that it goes on for
		first time.Duration // how far the first grant reaches
	}{
		{name: "a process of its own", first: 2*time.Second + 2*time.Millisecond},
		{name: "one that goes on for a young one", age: 9 * time.Second, first: 2*time.Second + 2*time.Millisecond},
		{name: "one that goes on for an older one", age: 3 * time.Minute, first: 3 * time.Minute},
		{name: "one that goes on for an old one", age: time.Hour, first: 10 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newFixture(t)
			h := w.host("I")
			h.timing, h.age = &grant.Timing{Window: 10 * time.Minute, Publish: 10 * time.Second}, c.age
			p := h.start()
			age := c.age
			reaches := func(when string, want time.Duration) {
				t.Helper()
				if got := time.Duration(p.Holding().Granted-w.tick()) * time.Millisecond; got != want {
					t.Errorf("%s, aged %v: the grant reaches %v ahead, want %v", when, age, got, want)
				}
			}
			reaches("the first grant", c.first)
			for _, step := range []time.Duration{0, time.Second, 10 * time.Second, time.Minute, 20 * time.Minute} {
				w.clock.Advance(step)
				age += step
				before := p.Holding().Granted
				must.Do(t, p.Publish(t.Context()))
				want := min(max(age, 10*time.Second), 10*time.Minute)
				if ahead := time.Duration(before-w.tick()) * time.Millisecond; ahead > want {
					want = ahead // a ceiling only rises
				}
				reaches("a later one", want)
			}
		})
	}
}

// A window that is shorter than all of this bounds each grant.
func TestAGrantReachesNoFurtherThanTheWindow(t *testing.T) {
	w := newFixture(t)
	p := w.host("I").start()
	for _, when := range []string{"first", "later"} {
		if got, want := p.Holding().Granted-w.tick(), generator.Tick(window/time.Millisecond); got != want {
			t.Errorf("the %s grant reaches %d ticks ahead, want %d", when, got, want)
		}
		must.Do(t, p.Publish(t.Context()))
	}
	// It is the cluster's, also where that is another than the daemon was told.
	const second = generator.Tick(time.Second / time.Millisecond)
	w.operate(func(ctx context.Context, o coord.Operator) error { return o.SetWindow(ctx, second) })
	if other := w.host("K").start(); other.Holding().Granted-w.tick() != second {
		t.Errorf("the window is %d ticks, and a grant reaches %d ahead", second, other.Holding().Granted-w.tick())
	}
	must.Do(t, p.Publish(t.Context()))
	if p.Window() != second {
		t.Errorf("the window is %d ticks, and after a publish %d", second, p.Window())
	}
}

// No grant goes beyond the layout's last tick, which would make its worker ID useless.
func TestAGrantReachesNoFurtherThanTheLayout(t *testing.T) {
	w := newFixture(t)
	w.clock = clocktest.NewManual(w.layout.End().Add(-window / 2))
	p := w.host("I").start()
	if last := w.layout.MaxTick(); p.Holding().Granted != last || p.record().Ceiling != last {
		t.Errorf("granted up to %d, and stored %+v; want the layout's last tick, %d", p.Holding().Granted, p.record(), last)
	}
}

// TestAYoungDaemonExtendsInTime: between its first grant and those of a whole window each is
// extended when half of it is left, though nobody asks for an ID.
func TestAYoungDaemonExtendsInTime(t *testing.T) {
	w := newFixture(t)
	l := w.loopingWith(grant.Timing{Window: 10 * time.Minute, Publish: 10 * time.Second}, 0)
	for age := time.Duration(0); age < 30*time.Minute; age += 250 * time.Millisecond {
		l.pass(250 * time.Millisecond)
		if left := time.Duration(l.Holding().Granted-w.tick()) * time.Millisecond; left < min(max(time.Second, age/3), 290*time.Second) {
			t.Fatalf("aged %v, and only %v of the grant is left", age, left)
		}
	}
	// Grants of 2 s and of 10 s, then each half as long again as the one before, then of the
	// window.
	if l.extends < 10 || l.extends > 25 {
		t.Errorf("%d grants in half an hour", l.extends)
	}
}
