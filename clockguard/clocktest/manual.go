// Package clocktest has a clock for tests that moves only when it is told to.
package clocktest

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/flakeward/flakeward/clockguard"
)

// Manual is a clock that a test moves by hand: wall and monotonic time together (Advance) or the
// wall clock alone (Step). It is safe for any number of goroutines.
type Manual struct {
	mu       sync.Mutex
	now      clockguard.Reading
	sleepers map[*sleeper]struct{}
	arrived  *sync.Cond // on mu: a sleeper has come
}

var _ clockguard.Clock = (*Manual)(nil)

// sleeper is one call of Sleep. The fields below done are written before it is
// closed and read after.
type sleeper struct {
	ctx   context.Context
	until clockguard.Mono
	done  chan struct{}
	err   error
}

// NewManual returns a clock whose wall clock shows start and whose monotonic clock shows 0.
func NewManual(start time.Time) *Manual {
	m := &Manual{
		now:      clockguard.Reading{Wall: start.UnixNano()},
		sleepers: make(map[*sleeper]struct{}),
	}
	m.arrived = sync.NewCond(&m.mu)
	return m
}

// Now returns where the test has put the clock.
func (m *Manual) Now() clockguard.Reading {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// Sleep blocks until Advance has moved the monotonic clock by d, or ctx ends.
// Which of the two came first decides, not which goroutine was scheduled first:
// a context that had ended when Advance was called wins.
func (m *Manual) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	m.mu.Lock()
	s := &sleeper{ctx: ctx, until: m.now.Mono + clockguard.Mono(d), done: make(chan struct{})}
	if s.until < 0 { // past the end of the clock's 292 years
		s.until = math.MaxInt64
	}
	m.sleepers[s] = struct{}{}
	m.arrived.Broadcast()
	m.mu.Unlock()

	select {
	case <-s.done:
		return s.err
	case <-ctx.Done():
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, asleep := m.sleepers[s]; !asleep {
		return s.err // Advance was first
	}
	delete(m.sleepers, s)
	return ctx.Err()
}

// Advance moves both clocks on by d and wakes every sleeper whose time has
// come. It does not wait for them to run. A negative d is a mistake in the test
// and panics: a monotonic clock never goes back.
func (m *Manual) Advance(d time.Duration) {
	if d < 0 {
		panic(fmt.Sprintf("clocktest: Advance(%v): a monotonic clock never goes back: use Step", d))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.Wall += int64(d)
	m.now.Mono += clockguard.Mono(d)
	for s := range m.sleepers {
		if s.until <= m.now.Mono {
			delete(m.sleepers, s)
			s.err = s.ctx.Err()
			close(s.done)
		}
	}
}

// Step moves the wall clock alone by d, either way. It wakes nobody.
func (m *Manual) Step(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.Wall += int64(d)
}

// BlockUntil waits until at least n goroutines are in Sleep, those aside whose context has ended.
func (m *Manual) BlockUntil(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.asleep() < n {
		m.arrived.Wait()
	}
}

// asleep counts the sleepers that only time can wake; mu is held.
func (m *Manual) asleep() int {
	n := 0
	for s := range m.sleepers {
		if s.ctx.Err() == nil {
			n++
		}
	}
	return n
}
