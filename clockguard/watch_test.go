package clockguard_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/clockguard/clocktest"
)

const (
	ns = time.Nanosecond
	ms = time.Millisecond
)

func TestWatchLook(t *testing.T) {
	const tolerance = 25 * ms
	for _, tt := range []struct {
		name       string
		wall, mono time.Duration // how far each moved
		step       time.Duration // 0: none
	}{
		{"nothing moved", 0, 0, 0},
		{"both moved", time.Hour, time.Hour, 0},
		{"ahead within tolerance", time.Second + tolerance, time.Second, 0},
		{"ahead just beyond", time.Second + tolerance + ns, time.Second, tolerance + ns},
		{"back within tolerance", time.Second - tolerance, time.Second, 0},
		{"back just beyond", time.Second - tolerance - ns, time.Second, -tolerance - ns},
		{"reads 8 ms apart", 2 * ms, 10 * ms, 0},
		{"an hour back", -time.Hour + ms, ms, -time.Hour},
		{"an hour ahead", time.Hour + ms, ms, time.Hour},
		{"a wall clock that stands still", 0, time.Second, -time.Second},
		{"a suspended machine", time.Hour, 0, time.Hour},
		{"from one end of time to the other", math.MaxInt64, 0, math.MaxInt64},
		{"and back", math.MinInt64, 0, math.MinInt64},
	} {
		t.Run(tt.name, func(t *testing.T) {
			first := clockguard.Reading{Mono: 77}
			w := clockguard.NewWatch(first, tolerance)
			next := clockguard.Reading{Wall: int64(tt.wall), Mono: first.Mono + clockguard.Mono(tt.mono)}
			step, stepped := w.Look(next)
			if step != tt.step || stepped != (tt.step != 0) {
				t.Errorf("Look = %v, %v, want %v", step, stepped, tt.step)
			}
			if step, stepped = w.Look(next); stepped || step != 0 {
				t.Errorf("the same look again = %v, %v, want no step", step, stepped)
			}
		})
	}
}

func TestWatchSaturates(t *testing.T) {
	w := clockguard.NewWatch(clockguard.Reading{Wall: math.MinInt64, Mono: math.MinInt64}, 0)
	if step, stepped := w.Look(clockguard.Reading{Wall: math.MaxInt64, Mono: math.MinInt64}); !stepped || step != math.MaxInt64 {
		t.Errorf("Look = %v, %v, want the longest step there is", step, stepped)
	}
	if step, stepped := w.Look(clockguard.Reading{Wall: math.MinInt64, Mono: math.MaxInt64}); !stepped || step != math.MinInt64 {
		t.Errorf("Look = %v, %v, want the longest step back", step, stepped)
	}
}

func TestWatchTakesADriftForNoStep(t *testing.T) {
	var now clockguard.Reading
	w := clockguard.NewWatch(now, ms)
	for range 1000 {
		now.Wall += int64(1000 * ms)
		now.Mono += clockguard.Mono(999 * ms) // 1 s in the end
		if step, stepped := w.Look(now); stepped {
			t.Fatalf("a drift of 0.1%% was taken for a step of %v", step)
		}
	}
}

func TestWatchWithNoTolerance(t *testing.T) {
	w := clockguard.NewWatch(clockguard.Reading{}, -ms)
	if _, stepped := w.Look(clockguard.Reading{}); stepped {
		t.Error("a step was found where nothing moved")
	}
	if step, stepped := w.Look(clockguard.Reading{Wall: -1}); !stepped || step != -ns {
		t.Errorf("Look = %v, %v, want -1ns", step, stepped)
	}
}

// TestWatchRunsWithNobodyAsking: steps are found although nobody asks for an ID.
func TestWatchRunsWithNobodyAsking(t *testing.T) {
	clock := clocktest.NewManual(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	w := clockguard.NewWatch(clock.Now(), 25*ms)
	ctx, cancel := context.WithCancel(t.Context())
	var steps []time.Duration
	looks := 0
	ended := make(chan error)
	go func() {
		ended <- w.Run(ctx, clock, 100*ms, func(step time.Duration) error {
			looks++
			if step != 0 {
				steps = append(steps, step)
			}
			return nil
		})
	}()
	for _, step := range []time.Duration{0, -time.Second, 0, 25 * ms, time.Hour, 0} {
		clock.BlockUntil(1)
		clock.Step(step)
		clock.Advance(100 * ms)
	}
	clock.BlockUntil(1)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Run: %v, want context.Canceled", err)
	}
	if want := []time.Duration{-time.Second, time.Hour}; !slices.Equal(steps, want) || looks != 6 {
		t.Errorf("steps %v were reported in %d looks, want %v in 6", steps, looks, want)
	}
}

func TestWatchEndsWithWhoLooks(t *testing.T) {
	clock := clocktest.NewManual(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	w, enough := clockguard.NewWatch(clock.Now(), 25*ms), errors.New("enough")
	ended := make(chan error)
	go func() {
		ended <- w.Run(t.Context(), clock, 100*ms, func(time.Duration) error { return enough })
	}()
	clock.BlockUntil(1)
	clock.Advance(100 * ms)
	if err := <-ended; !errors.Is(err, enough) {
		t.Errorf("Run: %v, want %v", err, enough)
	}
}
