package simulation

import (
	"math/rand/v2"
	"time"

	"github.com/flakeward/flakeward/sim/scheduler"
)

// spells draws, in most runs, spells in which nobody asks one of the daemons or all. Things go
// wrong in a spell, and at the requests that end it.
func (p *Plan) spells(r *rand.Rand) (faults []Fault) {
	if r.IntN(5) == 0 {
		return nil
	}
	for range 1 + r.IntN(3) {
		when, long := scheduler.Time(2*time.Second)+upTo(r, time.Duration(p.Length)*2/3), time.Second+between(r, 2*time.Second, 25*time.Second)
		end := when + scheduler.Time(long)
		daemon, all, spell := r.IntN(len(p.Hosts)), r.IntN(3) == 0, len(faults)
		within := func(f Fault) Fault {
			f.At = when + scheduler.Time(time.Second) + upTo(r, long-time.Second)
			return f
		}
		short := between(r, time.Millisecond, 2*time.Second)
		for range r.IntN(3) {
			switch r.IntN(6) {
			case 0, 1: // a start that waits, perhaps
				f := within(Fault{Kind: pick(r, Kill, Restart), For: short})
				faults = append(faults, f, Fault{At: f.At - upTo(r, time.Second), Kind: pick(r, Outage, Cut), For: short + between(r, time.Second, 10*time.Second)})
			case 2:
				faults = append(faults, within(Fault{Kind: Step, By: pick(r, time.Duration(-1), 1) * between(r, time.Millisecond, 10*time.Second)}))
			case 3:
				faults = append(faults, within(Fault{Kind: pick(r, EndSession, Clear, Raise)}))
			case 4: // for longer than the grant lasts
				faults = append(faults, within(Fault{Kind: pick(r, Outage, Cut), For: between(r, time.Second, 20*time.Second)}))
			case 5: // a single request
				faults = append(faults, within(Fault{Kind: Burst, N: 1}))
			}
		}
		// The requests that end the spell.
		faults = append(faults, Fault{At: end + 1, Kind: Burst, N: 1 + r.IntN(8)})
		switch r.IntN(4) {
		case 0:
			faults = append(faults, at(r, Fault{At: end, Kind: Kill, For: short}))
		case 1:
			faults = append(faults, Fault{At: end + upTo(r, p.Timing.Publish), Kind: pick(r, Kill, Restart), For: short})
		case 2:
			faults = append(faults, Fault{At: end - upTo(r, time.Second), Kind: Step, By: -between(r, time.Millisecond, 10*time.Second)})
		}
		for i := range faults[spell:] {
			faults[spell+i].Daemon = daemon
		}
		for d := range p.Hosts {
			if all || d == daemon {
				faults = append(faults, Fault{At: when, Kind: Quiet, Daemon: d, For: long})
			}
		}
	}
	return faults
}

// hush has nobody ask a daemon for a while.
func (sim *Simulation) hush(f Fault, s *slot) bool {
	sim.conditions.quiet[s.number]++
	return sim.until(f, func() { sim.conditions.quiet[s.number]-- })
}
