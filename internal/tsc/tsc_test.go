package tsc

import (
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// epoch is when the simulated clocks and the counter begin.
var epoch = time.Now()

// at is a sample at a moment of real time, as the clocks and a counter of that rate show it. late
// is how much later the counter was read, and after that the clock again.
func at(real, late, later time.Duration, rate float64) Sample {
	return Sample{At: epoch.Add(real), Cycles: uint64(rate * float64(real+late)), after: epoch.Add(real + late + later)}
}

func trusting() *Calibration { return &Calibration{trusted: func() bool { return true }} }

func TestBudget(t *testing.T) {
	const limit = 5 * time.Millisecond
	const rate = 2.6
	near := func(budget uint64) bool {
		return float64(budget) <= rate*float64(limit) && float64(budget) >= 0.98*rate*float64(limit)
	}
	short := func(real time.Duration) Sample { return at(real, 30, 30, rate) }

	g := trusting()
	for i, b := range []Sample{short(0), short(time.Microsecond), short(999 * time.Microsecond)} {
		if budget := g.Budget(b, limit); budget != 0 {
			t.Errorf("sample %d, before the rate can be known: %d", i, budget)
		}
	}
	for _, real := range []time.Duration{2 * time.Millisecond, 2001 * time.Microsecond, time.Second, 1500 * time.Millisecond, time.Hour, time.Hour + 1} {
		if budget := g.Budget(short(real), limit); !near(budget) {
			t.Errorf("after %v: %d cycles of %v", real, budget, rate*float64(limit))
		}
	}

	// Suspended: the counter went on, the clock did not. Then it is measured anew.
	const slept = uint64(rate * float64(time.Minute))
	moved := func(real time.Duration) Sample { b := short(real); b.Cycles += slept; return b }
	if budget := g.Budget(moved(time.Hour+2*time.Second), limit); budget != 0 {
		t.Errorf("the counter is ahead of the clock: %d", budget)
	}
	if budget := g.Budget(moved(time.Hour+3*time.Second), limit); !near(budget) {
		t.Errorf("a second later: %d", budget)
	}
	// The counter went back.
	if budget := g.Budget(short(time.Hour+4*time.Second), limit); budget != 0 {
		t.Errorf("the counter went back: %d", budget)
	}
	if budget := g.Budget(short(time.Hour+5*time.Second), limit); !near(budget) {
		t.Errorf("a second later: %d", budget)
	}
	// It halts, and is not trusted any more in the end.
	halted := short(time.Hour + 5*time.Second)
	for i := range mostMisses + 2 {
		halted.At, halted.after = halted.At.Add(time.Minute), halted.after.Add(time.Minute)
		if budget := g.Budget(halted, limit); budget != 0 {
			t.Errorf("halted, %d: %d", i, budget)
		}
	}
	for i := range mostMisses + 1 {
		b := short(100*time.Hour + time.Duration(i)*time.Minute)
		b.Cycles /= uint64(1 + i) // back each time
		_ = g.Budget(b, limit)
	}
	if budget := g.Budget(short(200*time.Hour), limit); budget != 0 {
		t.Errorf("after many misses: %d", budget)
	}
}

func TestTheKernelTrustsTheCounterNoMore(t *testing.T) {
	trusted := true
	g := &Calibration{trusted: func() bool { return trusted }}
	g.Budget(at(0, 30, 30, 1), time.Second)
	if budget := g.Budget(at(time.Minute, 30, 30, 1), time.Second); budget == 0 {
		t.Fatal("the counter is of no use")
	}
	trusted = false
	for i, real := range []time.Duration{2 * time.Minute, 3 * time.Minute} {
		if budget := g.Budget(at(real, 30, 30, 1), time.Second); budget != 0 {
			t.Errorf("%d: %d", i, budget)
		}
	}
	if budget := (&Calibration{}).Budget(at(time.Hour, 30, 30, 1), time.Second); budget != 0 {
		t.Errorf("without a counter: %d", budget)
	}
}

// However the readings are interrupted, a budget is never longer than it may be.
func TestBudgetIsABound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(0.01, 10).Draw(t, "rate")
		limit := time.Duration(rapid.OneOf(rapid.Int64Range(1, 2000), rapid.Int64Range(1, int64(time.Minute))).Draw(t, "limit"))
		interrupted := rapid.OneOf(rapid.Int64Range(0, 100), rapid.Int64Range(0, int64(20*time.Millisecond)))
		between := rapid.OneOf(rapid.Int64Range(0, int64(2*time.Millisecond)), rapid.Int64Range(0, int64(time.Hour)))
		g := trusting()
		var real time.Duration
		for range 20 {
			late, later := time.Duration(interrupted.Draw(t, "late")), time.Duration(interrupted.Draw(t, "later"))
			if budget := g.Budget(at(real, late, later, rate), limit); float64(budget) > rate*float64(max(0, limit-early)) {
				t.Fatalf("%d cycles, of %v less what two readings may be off", budget, rate*float64(limit))
			}
			real += late + later + time.Duration(between.Draw(t, "between"))
		}
	})
}

func TestYounger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := Now()
		if !b.Younger(1) || b.Younger(0) {
			t.Error("just taken")
		}
		<-time.After(time.Second)
		if b.Younger(time.Second) || !b.Younger(time.Second+1) {
			t.Error("a second old")
		}
		if (Sample{}).Younger(time.Hour) {
			t.Error("never taken")
		}
	})
}

func TestBothClocks(t *testing.T) {
	const hour = time.Hour
	for _, tt := range []struct {
		monotonic, wall time.Duration
		want            bool
	}{
		{1, 1, true},
		{hour, hour, false},
		{1, hour, false}, // suspended, or the wall clock was set forward
		{hour, 1, false}, // it was set back
		{1, -hour, true},
	} {
		if got := younger(tt.monotonic, tt.wall, time.Minute); got != tt.want {
			t.Errorf("%v and %v: %v", tt.monotonic, tt.wall, got)
		}
	}
}

// A counter that goes back before its rate is known has none.
func TestBackAtOnce(t *testing.T) {
	g := trusting()
	g.Budget(at(time.Hour, 30, 30, 1), time.Second)
	if budget := g.Budget(Sample{At: epoch.Add(2 * time.Hour), Cycles: 5, after: epoch.Add(2 * time.Hour)}, time.Second); budget != 0 {
		t.Errorf("%d", budget)
	}
}

// On this machine, the counter is used or it is not; if it is, a budget is what the clock says.
func TestMachine(t *testing.T) {
	g := NewCalibration()
	g.Budget(Now(), time.Second)
	budget := uint64(0)
	for begun := time.Now(); budget == 0 && g.trusted != nil && time.Since(begun) < time.Minute; { // readings that are interrupted tell nothing
		<-time.After(2 * time.Millisecond)
		budget = g.Budget(Now(), time.Millisecond)
	}
	if g.trusted == nil {
		t.Skip("the clock is asked here: the kernel does not trust the counter")
	}
	if budget == 0 {
		t.Fatal("the counter is trusted, and its rate was not found")
	}
	b := Now()
	for Cycles()-b.Cycles < budget {
	}
	t.Logf("a millisecond is %d cycles", budget)
	for b.Younger(time.Millisecond) {
	}
	if gone := Cycles() - b.Cycles; gone < budget {
		t.Errorf("after a millisecond only %d of %d cycles have gone by", gone, budget)
	}
}
