package grant

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/generator"
)

// Timing is how far ahead ceilings are pushed, and how often.
type Timing struct {
	Window  time.Duration // the grant in the coordinator, until the cluster says its own
	Publish time.Duration // between two grants, while IDs are issued
}

// pace is a holder's time: its clock, in ticks, and how far ahead of it ceilings go.
type pace struct {
	layout *generator.Layout
	clock  clockguard.Clock
	random func() float64
	limit  atomic.Int64 // see window
	// restartWait is how long a fresh lane may wait for its floor before a claim elsewhere is better.
	restartWait time.Duration
	begun       int64           // wall, when the holder was made
	born        clockguard.Mono // when the process began, or the first of those that it goes on for
}

func newPace(c Config) *pace {
	p := &pace{
		layout: c.Layout, clock: c.Clock, random: c.Random,
		restartWait: c.RestartWait, begun: c.Clock.Now().Wall, born: c.Clock.Now().Mono - clockguard.Mono(c.Age),
	}
	p.learn(ticks(c.Layout, c.Timing.Window))
	return p
}

// window is how far ahead of the clock a grant reaches at most: the cluster's window, as last
// heard.
func (p *pace) window() generator.Tick { return generator.Tick(p.limit.Load()) }

// learn notes the cluster's window; 0: the cluster does not say.
func (p *pace) learn(window generator.Tick) {
	if window > 0 {
		p.limit.Store(int64(max(4, window)))
	}
}

// span is how long so many ticks are, at the most what a time.Duration can say.
func (p *pace) span(ticks generator.Tick) time.Duration {
	return time.Duration(min(ticks, generator.Tick(math.MaxInt64/p.layout.TickLength()))) * p.layout.TickLength()
}

// ticks rounds d up to whole ticks.
func ticks(l *generator.Layout, d time.Duration) generator.Tick {
	return generator.Tick((d + l.TickLength() - 1) / l.TickLength())
}

func (p *pace) now() clockguard.Reading { return p.clock.Now() }

func (p *pace) tick() generator.Tick { return p.layout.TickAt(p.now().Wall) }

// latest is the highest floor that a fresh lane may wait for.
func (p *pace) latest() generator.Tick { return p.tick() + ticks(p.layout, p.restartWait) }

// How far a grant reaches beyond the clock while the process is young. A crash costs a worker ID
// until the clock has passed its grant, so a daemon that crashes again and again keeps few of them.
const (
	firstReach = 2 * time.Second  // of the first grant
	leastReach = 10 * time.Second // of the others: a session's life
)

// reach is how far beyond the clock a grant may go: the age of the process, at most the window.
// Granted: there was a grant before.
func (p *pace) reach(granted bool) generator.Tick {
	age := p.now().Mono.Sub(p.born)
	switch {
	case age >= leastReach:
	case granted:
		age = leastReach
	default:
		return min(2+ticks(p.layout, firstReach), p.window())
	}
	return min(max(2, ticks(p.layout, age)), p.window())
}

// furthest is the ceiling that a grant may have now.
func (p *pace) furthest(now generator.Tick, granted bool) generator.Tick {
	return min(now+p.reach(granted), p.layout.MaxTick())
}

// within bounds one exchange.
func (p *pace) within(ctx context.Context, limit time.Duration, do func(context.Context) error) error {
	ctx, cancel := clockguard.WithTimeout(ctx, p.clock, limit)
	defer cancel()
	return do(ctx)
}

// pause waits for d, a signal of wake, or the end of ctx.
func (p *pace) pause(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	clockguard.Pause(ctx, p.clock, d, wake)
}

// jitter changes d by up to a tenth either way, so that daemons which started together do not stay
// together.
func (p *pace) jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.9 + 0.2*p.random()))
}

// notify has whoever pauses with wake go on. Each wake holds one signal.
func notify(wake chan struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}
