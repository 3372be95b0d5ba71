package grant

import (
	"sync/atomic"
	"time"

	"github.com/flakeward/flakeward/clockguard"
)

// restParts is how many times in a window a grant is extended while nobody asks for IDs.
const restParts = 6

// idleness is whether anybody asks a holder for IDs. While nobody does, the journal's marks stay
// where they are, so that the first request waits for one write. The grant is extended rarely.
type idleness struct {
	after time.Duration // Timing.Idle
	asked atomic.Int64  // the clockguard.Mono at which a request found its lane at its ceiling last, or of the start
	idle  atomic.Bool   // what update found last
	woken atomic.Int64  // known time when idle ended last; nanoseconds since 1970, 0: it never did
	awake chan struct{} // has Holder.Hold look whether a publish is due
}

// ask notes a request that found its lane at its ceiling.
func (i *idleness) ask(now clockguard.Reading) { i.asked.Store(int64(now.Mono)) }

// update decides whether the holder is idle. The caller has locked the writer, so that a mark rises
// only if the last decision was that it is not.
func (hs *holdings) update() (idle bool) {
	s, now := hs.snapshot(), hs.pace.now()
	idle = hs.idleness.over(now) && hs.pace.unused(s.current, hs.idleness.after) && (s.draining.lane == nil || hs.pace.unused(s.draining, hs.idleness.after))
	if hs.idle.Swap(idle) && !idle {
		hs.woken.Store(now.Wall)
		notify(hs.wake)
		notify(hs.awake)
	}
	return idle
}

// over reports whether no request has found its lane at its ceiling for long enough.
func (i *idleness) over(now clockguard.Reading) bool {
	return i.after > 0 && now.Mono.Sub(clockguard.Mono(i.asked.Load())) >= i.after
}

// unused reports whether nothing was issued from a holding for so long. A lane that has not had its
// first mark is not unused: without that mark nobody could tell that it can issue.
func (p *pace) unused(h holding, after time.Duration) bool {
	if h.lane == nil || !h.lane.Closed() && h.lane.Ceiling() <= h.lane.Floor() {
		return false
	}
	ago := p.tick() - h.lane.Highest() // below 0 while the clock is set back
	return max(ago, -ago) >= ticks(p.layout, after)
}

// resting reports whether the next publish can wait: the holder is idle, and the record has the
// mark, so that no older journal would be believed.
func (hs *holdings) resting() bool {
	current := hs.snapshot().current
	return hs.idle.Load() && current.published >= current.mark
}

// rested is how long the pause until the next publish is while the holder is idle. The first of
// such pauses is any part of that, so that daemons which went idle together do not publish
// together.
func (p *pace) rested(window time.Duration, first bool) time.Duration {
	longest := window / restParts
	if first {
		return time.Duration(float64(longest) * p.random())
	}
	return p.jitter(longest)
}

// dormant reports whether nobody asks for IDs, and the first who does is served after one write of
// the journal.
func (hs *holdings) dormant(h holding) bool {
	tick := hs.pace.tick()
	return hs.idle.Load() && h.lane != nil && !h.lane.Closed() && tick > h.lane.Floor() && tick <= h.granted && hs.writer.disk.get() == nil
}

// restedSince reports whether the holder has been idle at some time since then.
func (i *idleness) restedSince(then time.Time) bool {
	return i.idle.Load() || i.woken.Load() > then.UnixNano()
}
