package grant

import (
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
	Config
	limit atomic.Int64    // see Window
	begun int64           // wall, when the holder was made
	born  clockguard.Mono // when the process began, or the first of those that it goes on for
}

func newPace(c Config) *pace {
	now := c.Clock.Now()
	p := &pace{Config: c, begun: now.Wall, born: now.Mono - clockguard.Mono(c.Age)}
	p.learn(ticks(c.Layout, c.Timing.Window))
	return p
}

// Window is how far ahead of the clock a grant of a process that is old enough reaches, in ticks: the
// cluster's window, as last heard.
func (p *pace) Window() generator.Tick { return generator.Tick(p.limit.Load()) }

// learn notes the cluster's window; 0: the cluster does not say.
func (p *pace) learn(window generator.Tick) {
	if window > 0 {
		p.limit.Store(int64(max(4, window)))
	}
}

// span is how long so many ticks of a length are, at the most what a time.Duration can say.
func span(ticks generator.Tick, length time.Duration) time.Duration {
	return time.Duration(min(ticks, generator.Tick(math.MaxInt64/length))) * length
}

// ticks rounds d up to whole ticks.
func ticks(l *generator.Layout, d time.Duration) generator.Tick {
	return generator.Tick((d + l.TickLength() - 1) / l.TickLength())
}

func (p *pace) now() clockguard.Reading { return p.Clock.Now() }

func (p *pace) tick() generator.Tick { return p.Layout.TickAt(p.now().Wall) }

// latest is the highest floor that a fresh lane may wait for.
func (p *pace) latest() generator.Tick { return p.tick() + ticks(p.Layout, p.RestartWait) }

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
		return min(2+ticks(p.Layout, firstReach), p.Window())
	}
	return min(max(2, ticks(p.Layout, age)), p.Window())
}

// furthest is the ceiling that a grant may have now.
func (p *pace) furthest(now generator.Tick, granted bool) generator.Tick {
	return min(now+p.reach(granted), p.Layout.MaxTick())
}

// jitter changes d by up to a tenth either way, so that daemons which started together do not stay
// together.
func (p *pace) jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.9 + 0.2*p.Random()))
}
