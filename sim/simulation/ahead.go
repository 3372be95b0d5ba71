package simulation

import (
	"math/rand/v2"
	"time"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/sim/scheduler"
)

// longest is the longest step ahead that leaves a layout's time room to go on: half of it.
func (p *Plan) longest() time.Duration {
	layout, err := generator.ParseLayout(p.Layout)
	if err != nil {
		return time.Hour
	}
	return layout.End().Sub(begin) / 2
}

// aheads draws, in some runs, clocks that are far ahead, for a moment or for good, of one host or
// of most, while daemons run, start and start again. In some runs daemons trust their clocks.
func (p *Plan) aheads(r *rand.Rand) (faults []Fault) {
	p.Trust = r.IntN(4) == 0
	if r.IntN(3) > 0 {
		return nil
	}
	when := func() scheduler.Time { return scheduler.Time(3*time.Second) + upTo(r, time.Duration(p.Length)*3/4) }
	by := func() time.Duration {
		far := pick(r, 1100*time.Millisecond, 3*time.Second, 30*time.Second, time.Hour, 24*time.Hour, 365*24*time.Hour, 60*365*24*time.Hour)
		return min(far+time.Duration(upTo(r, time.Second)), p.longest())
	}
	for range 1 + r.IntN(2) {
		at, far, long := when(), by(), pick(r, time.Second, 5*time.Second, 20*time.Second, time.Duration(p.Length))
		step := func(daemon int) {
			f := Fault{At: at + upTo(r, 100*time.Millisecond), Kind: Excursion, Daemon: daemon, By: far, For: long}
			switch r.IntN(5) {
			case 0: // in small steps
				const steps = 10
				for i := range steps {
					small := Fault{At: at + scheduler.Time(i)*scheduler.Time(100*time.Millisecond), Kind: Excursion, Daemon: daemon, By: 900 * time.Millisecond, For: long}
					faults = append(faults, small)
				}
				return
			case 1: // over a restart
				faults = append(faults, Fault{At: f.At + upTo(r, long), Kind: pick(r, Kill, Restart, Rebooted), Daemon: daemon, For: between(r, 100*time.Millisecond, 3*time.Second)})
			}
			faults = append(faults, f)
		}
		step(r.IntN(len(p.Hosts)))
		if r.IntN(2) == 0 { // and most of the others
			for d := range p.Hosts {
				if r.IntN(4) > 0 {
					step(d)
				}
			}
		}
		if r.IntN(4) == 0 {
			faults = append(faults, Fault{At: at - upTo(r, time.Second), Kind: Outage, For: min(long, 20*time.Second)})
		}
	}
	return faults
}
