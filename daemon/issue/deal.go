package issue

import (
	"time"

	"github.com/flakeward/flakeward/daemon/queue"
	"github.com/flakeward/flakeward/generator"
)

// Deal shares the clock's tick among the requests that wait in turn, and names those connections
// whose Take can get something now. Where the lane cannot serve, it names all that wait: each of
// them has to learn what it waits for then. Deal returns when to call it again; 0: nobody waits.
//
// Requests that are tried again and again without it get the same. With it, those that get nothing
// need not be tried. Named must neither block nor ask for IDs.
func (i *Issuer) Deal(named func(*Connection)) (again time.Duration) {
	l := &i.line
	if l.waiting.Load() == 0 {
		return 0
	}
	s := i.sample()
	name := func(r *queue.Request) { named(r.Of.(*Connection)) }
	tick := i.tick(s)
	l.mu.Lock()
	defer l.mu.Unlock()
	t := &l.turns
	if s.lane == nil || tick < s.highest || !serves(s.lane, tick) {
		t.queue.All(name)
	} else {
		if tick > t.dealt || s.lane != t.lane {
			t.deal(s.lane, tick)
		}
		t.queue.Shares(name)
	}
	return max(1, i.until(tick+1, s.now))
}

// serves reports whether the lane can issue of the tick, if that has numbers left.
func serves(lane *generator.Lane, tick generator.Tick) bool {
	_, out := lane.Take(0, tick, 0) // it takes nothing
	return out == generator.Issued && !lane.Closed()
}
