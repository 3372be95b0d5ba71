package simulation

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/sim/scheduler"
	"github.com/flakeward/flakeward/sim/tree"
)

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// between draws a duration, each order of magnitude as likely as the others.
func between(r *rand.Rand, lowest, highest time.Duration) time.Duration {
	d := lowest
	for d < highest && r.IntN(3) > 0 {
		d *= 2
	}
	return min(highest, d+time.Duration(r.Int64N(int64(d))))
}

// upTo draws a time from 0 to less than d.
func upTo(r *rand.Rand, d time.Duration) scheduler.Time { return scheduler.Time(r.Int64N(int64(d))) }

// PlanOf draws the plan of a seed.
func PlanOf(seed uint64) Plan {
	r := rand.New(rand.NewPCG(seed, 0x666c616b65))
	tick := pick(r, "1ms", "1ms", "1ms", "10ms", "100ms")
	p := Plan{
		Seed:          seed,
		Layout:        fmt.Sprintf("time=41@%s,worker=%d,sequence=%d;epoch=2026-01-01", tick, pick(r, 1, 1, 1, 2, 2, 3), pick(r, 1, 3, 6, 12)),
		Servers:       pick(r, tree.Etcd, tree.ZooKeeper),
		ShowsRestores: r.IntN(2) == 0,
		RestartWait:   pick(r, 0, 500*time.Millisecond, time.Second, 2*time.Second),
		Timing:        grant.Timing{Publish: pick(r, 300*time.Millisecond, time.Second, 2*time.Second, 4*time.Second)},
		TTL:           pick(r, 2*time.Second, 3*time.Second, 6*time.Second),
		Load:          pick(r, 50*time.Millisecond, 100*time.Millisecond, 200*time.Millisecond),
		Length:        scheduler.Time(60 * time.Second),
	}
	if r.IntN(40) == 0 { // the time field ends in the midst of the run
		ends := begin.Add(time.Duration(p.Length) * 2 / 3)
		tick = "1ms"
		p.Layout = "time=32@1ms,worker=2,sequence=8;epoch=" + ends.Add(-time.Millisecond<<32).Format(time.RFC3339Nano)
	}
	p.Timing.Window = max(2*p.Timing.Publish, pick(r, time.Second, 4*time.Second, 10*time.Second, 30*time.Second))
	for i := range 2 + r.IntN(3) {
		host := i
		if i > 0 && r.IntN(8) == 0 {
			host = i - 1 // two daemons on one host
		}
		p.Hosts = append(p.Hosts, host)
	}
	apart := pick(r, time.Millisecond, 100*time.Millisecond, 3*time.Second, 10*time.Second)
	for range p.Hosts {
		p.Apart = append(p.Apart, time.Duration(upTo(r, apart)))
	}
	p.faults(r)
	// Of numbers of their own, so that all else in a seed's plan stays as it is.
	p.bursts(rand.New(rand.NewPCG(seed, 0x6275727374)), tick)
	p.Strict = rand.New(rand.NewPCG(seed, 0x737472696374)).IntN(6) == 0
	roll := rand.New(rand.NewPCG(seed, 0x726f6c6c))
	for range p.Hosts {
		p.FromZero = append(p.FromZero, roll.IntN(6) == 0)
	}
	p.Faults = append(p.Faults, p.behind(rand.New(rand.NewPCG(seed, 0x626568696e64)))...)
	p.Faults = append(p.Faults, p.reboots(rand.New(rand.NewPCG(seed, 0x706c61636573)))...)
	p.Faults = append(p.Faults, p.aheads(rand.New(rand.NewPCG(seed, 0x6168656164)))...)
	p.Faults = append(p.Faults, p.spells(rand.New(rand.NewPCG(seed, 0x69646c65)))...)
	slices.SortStableFunc(p.Faults, func(a, b Fault) int { return cmp.Compare(a.At, b.At) })
	return p
}

// bursts draws which daemons have bursts.
func (p *Plan) bursts(r *rand.Rand, tick string) {
	length, _ := time.ParseDuration(tick)
	for range p.Hosts {
		var burst time.Duration
		if r.IntN(3) == 0 {
			// No less than a tick, and no more than what a lane remembers, as a daemon is
			// configured.
			burst = max(length, pick(r, length, 20*time.Millisecond, 200*time.Millisecond, 2*time.Second))
		}
		p.Bursts = append(p.Bursts, burst)
	}
}

// faults draws what goes wrong: in each run only some kinds of things, but these often, so that
// they meet each other.
func (p *Plan) faults(r *rand.Rand) {
	ofClocks, others := some(r, 0, lastOfClocks, 3), some(r, lastOfClocks+1, drawn, 7)
	for i := range 8 + 16 + r.IntN(8) {
		from := others
		if i < 8 {
			from = ofClocks
		}
		f := p.fault(r, pick(r, from...))
		for tries := 0; rare(f.Kind) && r.IntN(4) > 0 && tries < 20; tries++ {
			f = p.fault(r, pick(r, from...))
		}
		p.Faults = append(p.Faults, f)
		if f.Kind >= Kill && f.Kind <= Restart && r.IntN(2) == 0 {
			p.Faults = append(p.Faults, p.beside(r, f))
		}
	}
	for range 2 + r.IntN(3) {
		p.Faults = append(p.Faults, p.scenario(r)...)
	}
	for range 1 + r.IntN(4) {
		p.Faults = append(p.Faults, p.schedule(r)...)
	}
	if r.IntN(2) == 0 {
		p.Faults = append(p.Faults, p.contested(r)...)
	}
}

// reboots draws, in some runs, hosts that boot again.
func (p *Plan) reboots(r *rand.Rand) (faults []Fault) {
	if r.IntN(5) == 0 {
		for range 1 + r.IntN(2) {
			when := scheduler.Time(3*time.Second) + upTo(r, time.Duration(p.Length)*3/4)
			faults = append(faults, Fault{Kind: Rebooted, At: when, Daemon: r.IntN(len(p.Hosts)), For: between(r, 500*time.Millisecond, 8*time.Second)})
		}
	}
	return faults
}

// some draws n of the kinds from one to below another, some of them more than once.
func some(r *rand.Rand, from, to Kind, n int) []Kind {
	drawn := make([]Kind, n)
	for i := range drawn {
		drawn[i] = from + Kind(r.IntN(int(to-from)))
		for drawn[i].ofOneRequest() {
			drawn[i] = from + Kind(r.IntN(int(to-from)))
		}
	}
	return drawn
}

// beside is what makes the end of a process worse: when it starts again the coordinator is away, or
// the clock is another.
func (p Plan) beside(r *rand.Rand, f Fault) Fault {
	g := Fault{Daemon: f.Daemon, Kind: Outage, At: f.At - upTo(r, 500*time.Millisecond), For: f.For + between(r, 2*time.Second, 20*time.Second)}
	switch r.IntN(4) {
	case 0:
		g.Kind = Cut
	case 1:
		g = Fault{Daemon: f.Daemon, Kind: Step, At: f.At + upTo(r, f.For), By: -between(r, time.Millisecond, 10*time.Second)}
	case 2: // just so far back that the daemon was there with its last marks
		g = Fault{Daemon: f.Daemon, Kind: Step, At: f.At + upTo(r, f.For), By: -f.For - time.Duration(upTo(r, 2*time.Second))}
	}
	return g
}

// What a claim, a grant and a release take.
var requests = []string{"", "", "", "create a claim", "read what was claimed", "open a record", "open a record", "extend a grant", "extend a grant", "release a worker ID",
	"release a worker ID", "delete a claim", "list the claims", "look for the layout", "take a number", "open a session", "read the host's worker ID"}

// at puts a fault at a step of its daemon.
func at(r *rand.Rand, f Fault) Fault {
	f.Where, f.N = pick(r, "send", "send", "reply", "reply", "issue"), 1
	switch f.Where {
	case "send", "reply":
		f.What = pick(r, requests...)
	}
	if f.What == "" {
		f.N += r.IntN(10)
	}
	return f
}

// scenario has a daemon do what it does seldom, and something go wrong at a step of that.
func (p Plan) scenario(r *rand.Rand) []Fault {
	d, when := r.IntN(len(p.Hosts)), scheduler.Time(2*time.Second)+upTo(r, time.Duration(p.Length)*4/5)
	back := Fault{At: when, Kind: Step, Daemon: d, By: -between(r, 2500*time.Millisecond, 10*time.Second)}
	short := pick(r, time.Millisecond, 100*time.Millisecond, time.Second)
	first := []Fault{back}
	switch r.IntN(7) {
	case 0: // and what was granted before is not over when the clock is right again
		first = append(first, Fault{At: when + upTo(r, time.Second), Kind: Step, Daemon: d, By: -back.By})
	case 1, 2:
		first = []Fault{{At: when, Kind: Restart, Daemon: d, For: short}}
	case 3: // the holder who comes back, perhaps
		first = []Fault{{At: when, Kind: EndSession, Daemon: d}, {At: when - upTo(r, 1e9), Kind: Cut, Daemon: d, For: between(r, time.Second, 8*time.Second)}}
	case 4:
		first = []Fault{{At: when, Kind: Kill, Daemon: d, For: short}}
	case 5:
		first = []Fault{{At: when, Kind: Clear, Daemon: d}}
	}
	armed := Fault{At: when - 1e6, Daemon: d, Kind: Kill, For: pick(r, time.Millisecond, 100*time.Millisecond, time.Second)}
	if r.IntN(2) == 0 {
		armed.Cut = between(r, 3*time.Second, 20*time.Second)
	}
	if r.IntN(2) == 0 {
		armed = p.fault(r, pick(r, ReplyLost, ReplyLost, RequestLost, RequestLate, RequestLate, Refused, EndSession, Clear, Raise, Restart, Step, Pause, Cut, Outage, MessageLoss))
		armed.At, armed.Daemon = when-1e6, d
	}
	armed = at(r, armed)
	if armed.Kind.ofOneRequest() && armed.Where != "send" {
		armed.Where, armed.What = "send", pick(r, requests...)
	}
	faults := append(first, armed)
	switch r.IntN(5) {
	case 0: // a crash soon after
		faults = append(faults, at(r, Fault{At: when + 1, Kind: Kill, Daemon: d, For: short, Cut: pick(r, 0, 8*time.Second)}))
	case 1: // it is cut off then, and others get on
		faults = append(faults, Fault{At: when + upTo(r, time.Second), Kind: Cut, Daemon: d, For: between(r, 2*time.Second, 15*time.Second)})
	case 2: // the coordinator is away when it starts again
		faults = append(faults, Fault{At: when + upTo(r, time.Second), Kind: Outage, Daemon: d, For: between(r, time.Second, 10*time.Second)})
	case 3:
		faults = append(faults, Fault{At: when + upTo(r, 3*time.Second), Kind: EndSession, Daemon: d})
	}
	return faults
}

// contested has a daemon claim, and something go wrong at two steps of that which follow each
// other.
func (p Plan) contested(r *rand.Rand) []Fault {
	d, when := r.IntN(len(p.Hosts)), scheduler.Time(2*time.Second)+upTo(r, time.Duration(p.Length)*4/5)
	fault := func(after scheduler.Time, k Kind, where, what string, n int) Fault {
		return Fault{At: when + after, Kind: k, Daemon: d, Where: where, What: what, N: n}
	}
	back := Fault{At: when + 2, Kind: Step, Daemon: d, By: -between(r, 2500*time.Millisecond, 10*time.Second)}
	begin := back
	if r.IntN(2) == 0 {
		begin = pick(r, fault(2, EndSession, "", "", 0), fault(2, Clear, "", "", 0), Fault{At: when + 2, Kind: Restart, Daemon: d, For: 100 * time.Millisecond})
	}
	switch r.IntN(4) {
	case 0: // a claim that nobody knows of, and it or another of its maker's is not to be deleted
		return []Fault{begin, fault(0, ReplyLost, "send", "create a claim", 1+r.IntN(2)), fault(1, RequestLost, "send", "delete a claim", 1+r.IntN(4))}
	case 1:
		return []Fault{begin, fault(0, RequestLost, "send", "delete a claim", 1), fault(1, RequestLost, "send", "delete a claim", 2)}
	}
	// The worker ID that is assigned is held, and the one that is chosen instead gets a mark that
	// is too far ahead. What was asked for is not wanted any more when that is known: at the answer
	// that the cluster record is another one, or that the claim is made.
	known := fault(1, Restart, "reply", "create a claim", 2+r.IntN(2))
	if p.Servers == tree.ZooKeeper && known.N == 3 {
		known.What, known.N = "read what was claimed", 2
	}
	known.For = 100 * time.Millisecond
	return []Fault{back, fault(0, Raise, "reply", "list the claims", 1), known}
}

// rare are the kinds after which a cluster needs long to be itself again.
func rare(k Kind) bool {
	return k == Restored || k == Wiped || k == Raise || k == DamagedLayout || k == DamagedRecord || k == Misconfigured
}

func (p Plan) fault(r *rand.Rand, k Kind) Fault {
	f := Fault{At: scheduler.Time(time.Second) + upTo(r, time.Duration(p.Length)*9/10), Daemon: r.IntN(len(p.Hosts)), Kind: k}
	sign := pick(r, time.Duration(-1), 1)
	f.For = between(r, 50*time.Millisecond, 10*time.Second)
	switch k {
	case Step:
		f.By, f.For = sign*between(r, time.Millisecond, pick(r, time.Second, 10*time.Second, time.Hour)), 0
	case Excursion:
		f.By = sign * between(r, 5*time.Millisecond, pick(r, 5*time.Second, time.Hour))
	case Oscillate:
		f.By, f.For = sign*between(r, time.Millisecond, 3*time.Second), between(r, 50*time.Millisecond, 2*time.Second)
	case Drift, DriftBoth:
		f.P = float64(sign) * pick(r, 0.0005, 0.01, 0.1, 0.3)
	case Leap:
		f.For = 0
	case Kill, Restart:
		f.For = pick(r, time.Millisecond, 100*time.Millisecond, time.Second, between(r, 50*time.Millisecond, 8*time.Second))
		if r.IntN(3) == 0 {
			f = at(r, f)
			f.What, f.N = "", 1+r.IntN(8)
			if r.IntN(3) == 0 {
				f.Cut = between(r, 3*time.Second, 20*time.Second)
			}
		}
	case MessageLoss, Late, Twice, Stale:
		f.P = pick(r, 0.05, 0.2, 0.5)
	case EndSession, Clear, Raise, Wiped, DamagedHint, RequestLost, ReplyLost, Refused:
		f.For = 0
	case RequestLate:
		f.For = time.Second + between(r, 50*time.Millisecond, 8*time.Second)
	case Restored:
		f.For = between(r, 100*time.Millisecond, 20*time.Second) // the age of the backup
		f.By = pick(r, 0, time.Second)                           // until the marks are raised
	}
	return f
}
