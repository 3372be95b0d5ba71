package world

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/sim/line"
	"github.com/flakeward/flakeward/sim/tree"
)

// Plan is all that a run is made of: the same plan gives the same run.
type Plan struct {
	Seed    uint64
	Length  line.Time // until the last fault is over
	Layout  string
	Servers tree.Kind
	Tells   bool  // the servers' revision shows that they were restored
	Hosts   []int // by daemon: the host that it runs on
	Timing  grant.Timing
	TTL     time.Duration
	Load    time.Duration // between two requests to a daemon, on the average
	Faults  []Fault       // in the order of their time

	// Recover has the run go on without faults after Length, and judges whether all is well in the end.
	Recover bool

	// What nobody is promised to survive, to see that it is noticed.
	Lying    bool // disks sync nothing
	Unfenced bool // the servers store every write of a record
}

// Fault is one thing that goes wrong.
type Fault struct {
	At     line.Time
	Kind   Kind
	Daemon int           // or its host
	For    time.Duration // how long it lasts, or how long the daemon is down then
	By     time.Duration // of a clock
	P      float64       // how likely, for each request
	N      int           // the how manieth point
	Where  string        // the kind of point at which a process ends
	Cut    time.Duration // how long its host is cut off then
}

// Kind is what goes wrong.
type Kind int

// The kinds of faults; the first ones are of clocks.
const (
	Step       Kind = iota // the wall clock is set by By
	Excursion              // set by By, and back after For
	Strobe                 // set back and forth by By, For long
	FreezeWall             // the wall clock stands still For long, and is behind then
	Drift                  // the wall clock is wrong by P a second, For long
	DriftBoth              // both clocks are
	Leap                   // a second is repeated
	Suspend                // the host sleeps For long: its monotonic clock stands still
	Pause                  // the virtual machine sleeps For long: both clocks stand still
	Stopped                // all processes of the host are stopped For long
	lastOfClocks

	Kill     // a process is killed
	KillAt   // it is killed at the Nth point of a kind
	PowerCut // as Kill, and what was not synced may be lost
	PowerCutAt
	Restart // a process is stopped in order
	DiskFull
	DiskFails
	DiskSlow
	DiskLost // a process is killed and its disk replaced
	OldCopy  // a process is killed and an old copy of its journal put back, while the coordinator is up
	Outage   // the coordinator does not answer
	Cut      // it does not hear a host, or is not heard
	Lossy    // requests and replies get lost
	Late     // requests arrive late, also after they were given up
	Twice    // requests take place twice
	Stale    // hints are old
	EndSession
	Prolong // sessions last longer
	Clear   // an operator clears a claim
	Raise   // an operator raises all marks
	Restored
	Wiped
	kinds
)

var kindNames = [...]string{"clock is set", "clock is set and set back", "clock strobes", "wall clock freezes", "wall clock drifts", "both clocks drift",
	"leap second", "host is suspended", "virtual machine is paused", "processes are stopped", "", "killed", "killed at a point", "power cut", "power cut at a point",
	"stopped in order", "disk is full", "disk fails", "disk is slow", "disk is lost", "old copy of the journal", "coordinator is away", "cut off", "messages get lost",
	"messages are late", "requests happen twice", "hints are stale", "session ends early", "sessions last longer", "claim is cleared", "marks are raised",
	"coordinator is restored", "coordinator is wiped"}

func (k Kind) String() string { return kindNames[k] }

// OfClocks reports whether the kind is of clocks.
func (k Kind) OfClocks() bool { return k < lastOfClocks }

// String tells the fault in a line.
func (f Fault) String() string {
	text := fmt.Sprintf("%.6fs d%d: %s", float64(f.At)/1e9, f.Daemon, f.Kind)
	if f.By != 0 {
		text += fmt.Sprintf(" by %v", f.By)
	}
	if f.For != 0 {
		text += fmt.Sprintf(" for %v", f.For)
	}
	if f.P != 0 {
		text += fmt.Sprintf(" p=%.4f", f.P)
	}
	if f.Where != "" {
		text += fmt.Sprintf(" at %s %d", f.Where, f.N)
	}
	if f.Cut != 0 {
		text += fmt.Sprintf(", then cut off for %v", f.Cut)
	}
	return text
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// between draws a duration, each order of magnitude as likely as the others.
func between(r *rand.Rand, lowest, highest time.Duration) time.Duration {
	d := lowest
	for d < highest && r.IntN(3) > 0 {
		d *= 2
	}
	return min(highest, d+time.Duration(r.Int64N(int64(d))))
}

// PlanOf draws the plan of a seed.
func PlanOf(seed uint64) Plan {
	r := rand.New(rand.NewPCG(seed, 0x666c616b65))
	tick := pick(r, "1ms", "1ms", "1ms", "10ms", "100ms")
	p := Plan{
		Seed:    seed,
		Layout:  fmt.Sprintf("time=41@%s,worker=%d,sequence=%d;epoch=2026-01-01", tick, pick(r, 1, 2, 2, 3), pick(r, 1, 3, 6, 12)),
		Servers: pick(r, tree.Etcd, tree.ZooKeeper),
		Tells:   r.IntN(2) == 0,
		Timing: grant.Timing{
			Step:    pick(r, 200*time.Millisecond, 500*time.Millisecond, time.Second, 2*time.Second),
			Publish: pick(r, 300*time.Millisecond, time.Second, 2*time.Second, 4*time.Second),
		},
		TTL:    pick(r, 2*time.Second, 3*time.Second, 6*time.Second),
		Load:   pick(r, 50*time.Millisecond, 100*time.Millisecond, 200*time.Millisecond),
		Length: line.Time(60 * time.Second),
	}
	if r.IntN(40) == 0 { // the time field ends in the midst of the run
		ends := begin.Add(time.Duration(p.Length) * 2 / 3)
		p.Layout = "time=32@1ms,worker=2,sequence=8;epoch=" + ends.Add(-time.Millisecond<<32).Format(time.RFC3339Nano)
	}
	p.Timing.Window = max(2*p.Timing.Publish, 2*p.Timing.Step, pick(r, time.Second, 4*time.Second, 10*time.Second, 30*time.Second))
	for i := range 2 + r.IntN(3) {
		host := i
		if i > 0 && r.IntN(8) == 0 {
			host = i - 1 // two daemons on one host
		}
		p.Hosts = append(p.Hosts, host)
	}
	if r.IntN(2) == 0 {
		p.Faults = append(p.Faults, p.leaving(r)...)
	}
	n := 24 + r.IntN(12)
	for i := range n {
		f := p.fault(r, i < 8)
		p.Faults = append(p.Faults, f)
		if f.Kind >= Kill && f.Kind <= Restart && r.IntN(2) == 0 {
			p.Faults = append(p.Faults, p.beside(r, f))
		}
	}
	slices.SortStableFunc(p.Faults, func(a, b Fault) int { return cmp.Compare(a.At, b.At) })
	return p
}

// beside is what makes the end of a process worse: when it starts again the coordinator is away, or the clock is another.
func (p Plan) beside(r *rand.Rand, f Fault) Fault {
	g := Fault{Daemon: f.Daemon, Kind: Outage, At: f.At - line.Time(r.Int64N(int64(500*time.Millisecond))), For: f.For + between(r, 2*time.Second, 20*time.Second)}
	switch r.IntN(4) {
	case 0:
		g.Kind = Cut
	case 1:
		g = Fault{Daemon: f.Daemon, Kind: Step, At: f.At + line.Time(r.Int64N(int64(f.For))), By: -between(r, time.Millisecond, 10*time.Second)}
	case 2: // just so far back that the daemon was there with its last marks
		g = Fault{Daemon: f.Daemon, Kind: Step, At: f.At + line.Time(r.Int64N(int64(f.For))), By: -f.For - time.Duration(r.Int64N(int64(2*p.Timing.Step)))}
	}
	return g
}

// leaving has a daemon take another worker ID, as its clock goes back, and end at some point of that.
func (p Plan) leaving(r *rand.Rand) []Fault {
	daemon := r.IntN(len(p.Hosts))
	at := line.Time(2*time.Second) + line.Time(r.Int64N(int64(p.Length)*3/5))
	return []Fault{
		{At: at, Kind: KillAt, Daemon: daemon, For: pick(r, time.Millisecond, time.Second), Where: pick(r, "send", "reply", "disk"), N: 1 + r.IntN(12), Cut: pick(r, 0, 10*time.Second, 20*time.Second)},
		{At: at + 1e6, Kind: Step, Daemon: daemon, By: -between(r, 2500*time.Millisecond, 10*time.Second)},
	}
}

// rare are the kinds after which a cluster needs long to be itself again.
func rare(k Kind) bool { return k == Restored || k == Wiped || k == Raise || k == DiskLost }

func (p Plan) fault(r *rand.Rand, ofClocks bool) Fault {
	f := Fault{
		At:     line.Time(time.Second) + line.Time(r.Int64N(int64(p.Length)*9/10)),
		Daemon: r.IntN(len(p.Hosts)),
		Kind:   Kind(r.IntN(int(lastOfClocks))),
	}
	for !ofClocks {
		f.Kind = lastOfClocks + 1 + Kind(r.IntN(int(kinds-lastOfClocks-1)))
		if !rare(f.Kind) || r.IntN(6) == 0 {
			break
		}
	}
	sign := pick(r, time.Duration(-1), 1)
	f.For = between(r, 50*time.Millisecond, 10*time.Second)
	switch f.Kind {
	case Step:
		f.By, f.For = sign*between(r, time.Millisecond, pick(r, time.Second, 10*time.Second, time.Hour)), 0
	case Excursion:
		f.By = sign * between(r, 5*time.Millisecond, pick(r, 5*time.Second, time.Hour))
	case Strobe:
		f.By, f.For = sign*between(r, time.Millisecond, 3*time.Second), between(r, 50*time.Millisecond, 2*time.Second)
	case Drift, DriftBoth:
		f.P = float64(sign) * pick(r, 0.0005, 0.01, 0.1, 0.3)
	case Leap:
		f.For = 0
	case Kill, PowerCut, Restart, OldCopy, DiskLost:
		f.For = pick(r, time.Millisecond, 100*time.Millisecond, time.Second, between(r, 50*time.Millisecond, 8*time.Second))
	case KillAt, PowerCutAt:
		f.For = pick(r, time.Millisecond, 100*time.Millisecond, between(r, 50*time.Millisecond, 8*time.Second))
		f.Where, f.N = pick(r, "disk", "disk", "send", "reply", "issue"), 1+r.IntN(8)
		if r.IntN(3) == 0 {
			f.Cut = between(r, 3*time.Second, 20*time.Second)
		}
	case Lossy, Late, Twice, Stale:
		f.P = pick(r, 0.05, 0.2, 0.5)
	case EndSession, Clear, Raise, Wiped:
		f.For = 0
	case Restored:
		f.For = between(r, 100*time.Millisecond, 20*time.Second) // the age of the backup
	}
	return f
}
