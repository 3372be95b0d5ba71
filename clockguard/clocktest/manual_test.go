package clocktest

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// sleep starts a sleeper and returns where its result will come.
func sleep(ctx context.Context, m *Manual, d time.Duration) <-chan error {
	woken := make(chan error, 1)
	go func() { woken <- m.Sleep(ctx, d) }()
	return woken
}

func TestManualMovesOnlyWhenTold(t *testing.T) {
	m := NewManual(start)
	want := clockguard.Reading{Wall: start.UnixNano()}
	check := func(what string) {
		t.Helper()
		if got := m.Now(); got != want {
			t.Fatalf("after %s: %+v, want %+v", what, got, want)
		}
	}
	check("the start")
	m.Advance(5)
	want.Wall += 5
	want.Mono += 5
	check("Advance")
	m.Step(-time.Hour)
	want.Wall -= int64(time.Hour)
	check("Step")
}

func TestManualWakesWhoIsDue(t *testing.T) {
	m := NewManual(start)
	early := sleep(t.Context(), m, 10)
	late := sleep(t.Context(), m, 11)
	m.BlockUntil(2)
	m.Step(time.Hour) // wakes nobody
	m.Advance(9)
	m.BlockUntil(2)
	m.Advance(1)
	if err := <-early; err != nil {
		t.Errorf("the sleeper that was due: %v", err)
	}
	m.BlockUntil(1)
	select {
	case err := <-late:
		t.Errorf("the other woke too early: %v", err)
	default:
	}
	m.Advance(1)
	if err := <-late; err != nil {
		t.Errorf("the other: %v", err)
	}
	if n := len(m.sleepers); n != 0 {
		t.Errorf("%d sleepers are left", n)
	}
}

func TestManualContext(t *testing.T) {
	m := NewManual(start)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, d := range []time.Duration{-1, 0, 1} {
		if err := m.Sleep(ended, d); !errors.Is(err, context.Canceled) {
			t.Errorf("Sleep(%v) with an ended context: %v", d, err)
		}
		if d <= 0 {
			if err := m.Sleep(t.Context(), d); err != nil {
				t.Errorf("Sleep(%v): %v", d, err)
			}
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	woken := sleep(ctx, m, 1)
	m.BlockUntil(1)
	cancel()
	if err := <-woken; !errors.Is(err, context.Canceled) || len(m.sleepers) != 0 {
		t.Errorf("a context that ends: %v, %d sleepers left", err, len(m.sleepers))
	}
}

// TestManualFirstComeFirstServed: the order of cancel and Advance decides, every
// time, whichever goroutine runs first.
func TestManualFirstComeFirstServed(t *testing.T) {
	for range 200 {
		m := NewManual(start)
		ctx, cancel := context.WithCancel(t.Context())
		woken := sleep(ctx, m, 1)
		m.BlockUntil(1)
		m.Advance(1)
		cancel()
		if err := <-woken; err != nil {
			t.Fatalf("Advance, then cancel: %v", err)
		}

		ctx, cancel = context.WithCancel(t.Context())
		woken = sleep(ctx, m, 1)
		m.BlockUntil(1)
		cancel()
		m.Advance(1)
		if err := <-woken; !errors.Is(err, context.Canceled) {
			t.Fatalf("cancel, then Advance: %v", err)
		}
	}
}

// lateContext ends just before the sleeper looks at it, right after its time came.
type lateContext struct {
	context.Context
	end func()
}

func (c lateContext) Done() <-chan struct{} {
	c.end()
	return c.Context.Done()
}

func TestManualWhenBothHaveCome(t *testing.T) {
	for range 100 { // a select with two ways to go takes either
		m := NewManual(start)
		inner, cancel := context.WithCancel(t.Context())
		ctx := lateContext{inner, func() {
			m.Advance(1)
			cancel()
		}}
		if err := m.Sleep(ctx, 1); err != nil {
			t.Fatalf("Advance, then cancel: %v", err)
		}
	}
}

func TestManualSleepsToTheEndOfTime(t *testing.T) {
	m := NewManual(start)
	m.Advance(time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	woken := sleep(ctx, m, math.MaxInt64)
	m.BlockUntil(1)
	m.Advance(time.Hour)
	m.BlockUntil(1)
	cancel()
	if err := <-woken; !errors.Is(err, context.Canceled) {
		t.Errorf("Sleep: %v", err)
	}
}

func TestManualNeverGoesBack(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("Advance(-1) did not panic")
		}
	}()
	NewManual(start).Advance(-1)
}
