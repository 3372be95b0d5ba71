package clockguard

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"
)

func TestSystemReadsBothClocks(t *testing.T) {
	var c System
	before := time.Now().UnixNano()
	first := c.Now()
	after := time.Now().UnixNano()
	// A step of this machine's clock in between would fail this, and nothing else.
	if first.Wall < before || first.Wall > after {
		t.Errorf("wall clock %d, want between %d and %d", first.Wall, before, after)
	}
	if second := c.Now(); second.Mono < first.Mono || first.Mono < 0 {
		t.Errorf("the monotonic clock went from %d to %d", first.Mono, second.Mono)
	}
	if n := testing.AllocsPerRun(100, func() { c.Now() }); n != 0 {
		t.Errorf("Now allocates %v times", n)
	}
}

// TestSystemSleepIsNeverShort takes each way of waiting. That a wait is not long
// either is for the benchmark to show.
func TestSystemSleepIsNeverShort(t *testing.T) {
	var c System
	for _, d := range []time.Duration{
		-time.Hour, 0, 1, time.Microsecond, 300 * time.Microsecond, preciseTail, longestPrecise - 1,
		longestPrecise, longestPrecise + 1, 5 * time.Millisecond, shortestCoarse,
	} {
		start := c.Now().Mono
		if err := c.Sleep(context.Background(), d); err != nil {
			t.Errorf("Sleep(%v): %v", d, err)
		}
		if took := c.Now().Mono.Sub(start); took < d {
			t.Errorf("Sleep(%v) took %v", d, took)
		}
	}
}

func TestSystemSleepEndsWithItsContext(t *testing.T) {
	var c System
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, d := range []time.Duration{-1, 0, 1, time.Millisecond, time.Hour, math.MaxInt64} {
		if err := c.Sleep(ended, d); !errors.Is(err, context.Canceled) {
			t.Errorf("Sleep(%v) with an ended context: %v", d, err)
		}
	}
	for _, d := range []time.Duration{time.Hour, math.MaxInt64} {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		if err := c.Sleep(ctx, d); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Sleep(%v) with a context that ends: %v", d, err)
		}
		cancel()
	}
}

func TestSinceSaturates(t *testing.T) {
	for _, tt := range []struct{ a, b, want int64 }{
		{5, 3, 2}, {3, 5, -2}, {0, 0, 0}, {-1, math.MinInt64, math.MaxInt64}, {0, math.MinInt64, math.MaxInt64},
		{-2, math.MaxInt64, math.MinInt64}, {-1, math.MaxInt64, math.MinInt64},
		{math.MaxInt64, -1, math.MaxInt64}, {math.MinInt64, 1, math.MinInt64},
		{math.MaxInt64, math.MinInt64, math.MaxInt64}, {math.MinInt64, math.MaxInt64, math.MinInt64},
	} {
		if got := since(tt.a, tt.b); got != tt.want {
			t.Errorf("since(%d, %d) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
