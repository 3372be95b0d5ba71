package world

import (
	"slices"
	"time"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/sim/disk"
	"github.com/flakeward/flakeward/sim/scheduler"
)

const (
	// rest is how long a cluster has, once nothing goes wrong any more, until all must be well.
	// Claims that nobody uses are the last to go: they take six publishes.
	rest = 40 * time.Second
	// lately is how long ago a daemon has issued at the most, then.
	lately = 5 * time.Second
)

// heal ends all faults. The clocks are set right, or as late as what was granted to anybody: until
// then a daemon may have to wait.
func (w *World) heal() {
	w.healed = true
	w.weather.down, w.weather.lost, w.weather.late, w.weather.twice, w.weather.stale = 0, 0, 0, 0, 0
	for _, counts := range [][]int{w.weather.deaf, w.weather.mute, w.weather.slowed} {
		clear(counts)
	}
	w.mendAll()
	now := w.line.Now()
	right := max(begin.UnixNano()+int64(now)+int64(rest), w.layout.UnixNanos(w.highest+1))
	for _, h := range w.hosts {
		h.clocks.FreezeWall(now, false)
		h.clocks.Drift(now, 0, 0)
		h.clocks.Step(now, time.Duration(right-h.read().Wall))
	}
	for _, s := range w.slots {
		s.all(func(d *disk.Disk) { d.Full, d.Failing = false, false })
		s.armed, s.twist = nil, nil
	}
	w.say(nil, "nothing goes wrong any more; clocks show tick %d", w.layout.TickAt(right))
}

// recovered judges whether as many daemons issue as there are worker IDs for.
func (w *World) recovered() {
	if w.layout.TickAt(w.hosts[0].read().Wall) > w.layout.MaxTick()-generator.Tick(time.Minute/w.layout.TickLength()) {
		return // the time is over
	}
	issuing := 0
	for _, s := range w.slots {
		if s.issued > 0 && w.line.Now()-s.issued < scheduler.Time(lately) {
			issuing++
		}
	}
	if want := w.least(); issuing < want {
		for _, s := range w.slots {
			if s.proc != nil {
				for _, seat := range s.proc.seats {
					w.say(s, "holds %+v, trouble: %v", seat.holder.Holding(), seat.holder.Condition())
				}
			}
		}
		w.violate(nil, "%v after the last fault %d daemons issue, and %d could", rest, issuing, want)
	}
}

// least is how many daemons issue at the least if every worker ID is held that can be: those with
// the most lanes may have come first.
func (w *World) least() int {
	left, daemons := w.layout.Workers(), 0
	all := w.plan.lanes()
	for _, s := range w.slots[len(all):] {
		if !s.idle {
			all = append(all, len(s.disks()))
		}
	}
	slices.Sort(all)
	for _, lanes := range slices.Backward(all) {
		if left <= 0 {
			break
		}
		left -= lanes
		daemons++
	}
	return daemons
}
