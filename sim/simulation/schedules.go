package simulation

import (
	"math/rand/v2"
	"time"

	"github.com/flakeward/flakeward/sim/scheduler"
)

// schedule is one of those orders of things in which a rule that is missing shows: each took
// thought to find, and chance alone brings it about too seldom.
func (p Plan) schedule(r *rand.Rand) []Fault {
	d, when := r.IntN(len(p.Hosts)), scheduler.Time(2*time.Second)+upTo(r, time.Duration(p.Length)*4/5)
	at := func(after time.Duration, f Fault) Fault {
		f.Daemon, f.At = d, when+scheduler.Time(after)
		return f
	}
	send := func(after time.Duration, what string, n int, f Fault) Fault {
		f.Where, f.What, f.N = "send", what, n
		return at(after, f)
	}
	reply := func(after time.Duration, what string, n int, f Fault) Fault {
		f = send(after, what, n, f)
		f.Where = "reply"
		return f
	}
	const soon = time.Millisecond
	again := pick(r, Fault{Kind: EndSession}, Fault{Kind: Clear}, Fault{Kind: Kill, For: soon}, Fault{Kind: Restart, For: soon}, Fault{Kind: Step, By: -between(r, 2500*time.Millisecond, 10*time.Second)})
	switch r.IntN(8) {
	case 0: // it leaves a worker ID and ends; then its clock is right again, so that only the old grant has not ended, and nobody answers
		by := p.Timing.Window + between(r, 2500*time.Millisecond, 5*time.Second)
		return []Fault{
			reply(0, "release a worker ID", 1, Fault{Kind: Kill, For: 800 * time.Millisecond, Cut: 15 * time.Second}),
			at(soon, Fault{Kind: Step, By: -by}), at(500*time.Millisecond, Fault{Kind: Step, By: by}),
		}
	case 1: // the cluster record changes under a request whose caller stops
		what := pick(r, "extend a grant", "open a record", "create a claim", "list the claims")
		return []Fault{send(0, what, 1, Fault{Kind: Raise}), reply(0, what, 1, Fault{Kind: Restart, For: soon}), at(soon, again)}
	case 2: // all claim at once, and one of them stops
		faults := []Fault{reply(0, "delete a claim", 1+r.IntN(3), Fault{Kind: Restart, For: soon})}
		for other := range p.Hosts {
			faults = append(faults, Fault{At: when + scheduler.Time(soon), Daemon: other, Kind: pick(r, EndSession, EndSession, Clear)})
		}
		return faults
	case 3: // claims that nobody knows of, which cannot be deleted
		return []Fault{
			send(0, "create a claim", 1, Fault{Kind: pick(r, ReplyLost, RequestLate), For: 2500 * time.Millisecond}), send(0, "delete a claim", 1, Fault{Kind: RequestLost}),
			send(0, "delete a claim", 2+r.IntN(2), Fault{Kind: pick(r, RequestLost, Refused)}), at(soon, again),
		}
	case 4: // between the claim and its opening
		return []Fault{
			pick(r, send, reply)(0, pick(r, "open a record", "create a claim", "read what was claimed"), 1, Fault{Kind: pick(r, EndSession, EndSession, Clear, Raise, DamagedRecord), For: pick(r, soon, time.Second)}), at(soon, again),
		}
	case 5: // a release that is refused, or not heard of
		return []Fault{
			send(0, "release a worker ID", 1, Fault{Kind: pick(r, Refused, ReplyLost, RequestLate), For: between(r, time.Second, 8*time.Second)}),
			at(soon, pick(r, Fault{Kind: Restart, For: time.Second}, Fault{Kind: Step, By: -between(r, 2500*time.Millisecond, 10*time.Second)})),
		}
	case 6: // another cluster, and then nobody
		return []Fault{at(0, Fault{Kind: Wiped}), at(p.Timing.Publish+time.Second, Fault{Kind: Outage, For: 8 * time.Second}), at(p.Timing.Publish+1500*time.Millisecond, Fault{Kind: Kill, For: soon})}
	default: // one worker ID, another, and the first again
		back := Fault{Kind: Step, By: -between(r, 2500*time.Millisecond, 5*time.Second)}
		return []Fault{at(0, back), at(p.Timing.Publish+time.Second, back), at(2*p.Timing.Publish+2*time.Second, Fault{Kind: Kill, For: soon, Cut: pick(r, 0, 8*time.Second)})}
	}
}

// behind has, in some runs, the clock of a daemon be set back for long, and its connections be
// served from one worker ID and another within a tick meanwhile. For that ticks are long, and
// worker IDs many.
func (p *Plan) behind(r *rand.Rand) []Fault {
	if r.IntN(8) > 0 {
		return nil
	}
	p.Layout = "time=41@" + pick(r, "10ms", "100ms") + ",worker=4,sequence=6;epoch=2026-01-01"
	d, at := r.IntN(len(p.Hosts)), scheduler.Time(5*time.Second)
	var faults []Fault
	for range 3 {
		at += scheduler.Time(time.Second) + upTo(r, 10*time.Second)
		faults = append(faults, Fault{At: at, Kind: Step, Daemon: d, By: -between(r, 2500*time.Millisecond, pick(r, 20*time.Second, time.Hour))})
		for after := scheduler.Time(0); after < scheduler.Time(60*time.Millisecond); after += scheduler.Time(time.Millisecond) + upTo(r, 8*time.Millisecond) {
			faults = append(faults, Fault{At: at + after, Kind: Burst, Daemon: d})
		}
	}
	return faults
}
