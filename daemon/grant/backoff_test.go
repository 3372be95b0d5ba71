package grant_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// allAhead is a process whose clock has gone back an hour, where all marks were raised to what it
// was then: no worker ID has room before.
func (w *fixture) allAhead(name string) *process {
	w.t.Helper()
	w.used(0, 1, 2, 3)
	p := w.host(name).start()
	w.raise(w.tick())
	must.Fail(w.t, p.Publish(w.t.Context()), coord.ErrLost)
	must.Do(w.t, p.Acquire(w.t.Context(), false))
	w.clock.Advance(wait)
	p.issueAll()
	w.clock.Step(-time.Hour)
	return p
}

// finds has a re-lease find nothing, which leaves the lane as it is, and returns the lowest floor.
func (p *process) finds(t *testing.T) generator.Tick {
	t.Helper()
	lane := p.lane
	var ahead *coord.AheadError
	if err := p.Acquire(t.Context(), true); !errors.As(err, &ahead) || p.lane != lane || lane != nil && lane.Closed() {
		t.Fatalf("the re-lease ended with %v, want that all are ahead; the lane is another: %v", err, p.lane != lane)
	}
	return ahead.Lowest
}

// waits is how long it takes until the process would ask again.
func (p *process) waits(t *testing.T) time.Duration {
	t.Helper()
	const each = 5 * time.Millisecond
	for d := time.Duration(0); d < time.Hour; d += each {
		if p.CanAcquire() {
			return d
		}
		p.clock.Advance(each)
	}
	t.Fatal("nobody asks again")
	return 0
}

// A re-lease that finds nothing is tried again seldom, and those who were told so at once do not
// come back together.
func TestReLeasesThatFindNothingAreTriedSeldom(t *testing.T) {
	w := newFixture(t)
	p := w.allAhead("J")
	other := w.host("K").boot()
	other.attach()
	var waits, others []time.Duration
	for range 4 {
		p.finds(t)
		waits = append(waits, p.waits(t))
		other.finds(t)
		others = append(others, other.waits(t))
	}
	for _, d := range append(waits, others...) {
		if d < 15*time.Second || d > 30*time.Second+10*time.Millisecond {
			t.Errorf("another try follows after %v, want 15 s to 30 s", d)
		}
	}
	if slices.Equal(waits, others) {
		t.Errorf("two processes wait %v each", waits)
	}
}

// The answer says when a worker ID can be had: it is asked for then, however long the wait.
func TestTheLowestFloorEndsTheWait(t *testing.T) {
	w := newFixture(t)
	p := w.allAhead("J")
	lowest := p.finds(t)
	w.clock.Step(time.Duration(lowest-w.tick())*time.Millisecond - 8*time.Second)
	w.clock.Advance(30 * time.Second)
	w.clock.Step(-30 * time.Second)
	for tries := 0; w.tick() < lowest-generator.Tick(wait/time.Millisecond); tries++ {
		if tries > 6 {
			t.Fatalf("at tick %d it has asked %d times, and the lowest floor is %d", w.tick(), tries, lowest)
		}
		p.finds(t)
		p.waits(t)
	}
	if at := w.tick(); at > lowest+1000 {
		t.Errorf("asks again at tick %d, want at about %d, the lowest floor", at, lowest)
	}
}

// A daemon for which there is no worker ID asks seldom, and has the first given back within
// seconds.
func TestAllHeldIsAskedSeldom(t *testing.T) {
	w := newFixture(t)
	var held []*process
	for range w.layout.Workers() {
		held = append(held, w.host(string(rune('A'+len(held)))).start())
	}
	late := w.host("late").boot()
	late.attach()
	claims, looked := 0, 0
	late.coord.asked = func(r coord.Request) {
		if claims++; r.Look {
			looked++
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- late.Hold(ctx) }()
	advance := func(d time.Duration) {
		for end := w.clock.Now().Mono + clockguard.Mono(d); w.clock.Now().Mono < end; {
			w.clock.BlockUntil(1)
			w.clock.Advance(50 * time.Millisecond)
		}
		w.clock.BlockUntil(1)
	}
	advance(time.Minute)
	if claims < 40 || claims > 75 || looked != claims-1 {
		t.Errorf("in a minute it asked %d times, and looked first %d times; want about 53, and all but the first", claims, looked)
	}
	must.Do(t, held[0].Shut(t.Context()))
	advance(6 * time.Second)
	if late.worker() != held[0].worker() {
		t.Errorf("holds worker ID %d 6 s later, want %d, which was given back", late.worker(), held[0].worker())
	}
	stop()
	must.Do(t, <-ended)
}
