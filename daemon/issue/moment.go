package issue

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/age"
)

// longestMoment bounds for how long a tick is taken for granted: for so long a step of the wall clock may go unseen.
const longestMoment = time.Millisecond

// moment remembers the clock's tick for as long as that surely lasts, by the processor's time stamp counter, which takes a fifth of the time
// to read that the clock takes: two thirds of what an ID costs where requests follow each other closely. It is for the machine's clock
// alone, and knows nothing where the kernel does not trust the counter. Uniqueness does not rest on it, as on no clock.
type moment struct {
	layout *generator.Layout // nil: nothing is remembered
	off    atomic.Bool       // the counter is not trusted any more

	// What is remembered, written by one at a time: version is odd meanwhile.
	version atomic.Uint64
	tick    atomic.Int64
	born    atomic.Uint64
	life    atomic.Uint64

	asked    atomic.Int64 // the tick of the last request that read the clock
	learning sync.Mutex
	gauge    *age.Gauge
}

// on makes the moment remember, if the clock is the machine's.
func (m *moment) on(clock clockguard.Clock, layout *generator.Layout) {
	if _, ok := clock.(clockguard.System); !ok {
		return
	}
	if m.gauge = age.NewGauge(); m.gauge.Trusts() {
		m.layout = layout
	}
}

// now is the clock's tick, if it is remembered and has not ended. The clock reached it before this call.
func (m *moment) now() (generator.Tick, bool) {
	version := m.version.Load()
	tick, born, life := m.tick.Load(), m.born.Load(), m.life.Load()
	if age.Cycles()-born >= life || version&1 != 0 || m.version.Load() != version {
		return 0, false
	}
	return generator.Tick(tick), true
}

// saw is told of each tick that a request read off the clock. The second request of a tick has it remembered: where requests are few,
// to do so would cost more than it saves.
func (m *moment) saw(tick generator.Tick) {
	if m.layout == nil || m.off.Load() || m.asked.Swap(int64(tick)) != int64(tick) || !m.learning.TryLock() {
		return
	}
	defer m.learning.Unlock()
	m.learn(age.Now())
}

func (m *moment) learn(b age.Birth) {
	// The counter was read before the latest that the clock showed. So what is left of the tick from there on is left from the
	// counter's reading at the least, and whoever looks later finds the tick begun.
	latest := b.Latest().UnixNano()
	tick := m.layout.TickAt(latest)
	life := m.gauge.Life(b, min(longestMoment, time.Duration(m.layout.UnixNanos(tick+1)-latest)))
	if !m.gauge.Trusts() {
		m.off.Store(true)
	}
	m.version.Add(1)
	m.tick.Store(int64(tick))
	m.born.Store(b.Cycles)
	m.life.Store(life)
	m.version.Add(1)
}
