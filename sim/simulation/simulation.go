// Package simulation simulates a whole cluster from one seed. Its daemons are made of the real
// generator, clock guard, issuer, claiming and grant code, on simulated clocks, with a simulated
// coordinator. It injects faults into all of them. What only the moment shows it judges at once:
// order by each clock, fairness, which writes and calls pass. At the end package audit judges the
// evidence that the run leaves, as it does that of the drills. A run ends at its first violation.
package simulation

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/claims"
	"github.com/flakeward/flakeward/daemon/lifecycle"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/sim/scheduler"
	"github.com/flakeward/flakeward/sim/tree"
)

// begin is what a right wall clock shows at the beginning.
var begin = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// Simulation is a cluster being simulated.
type Simulation struct {
	plan       Plan
	scheduler  scheduler.Scheduler
	tree       *tree.Tree
	older      *tree.Tree // for hints and plain reads that are old
	layout     *generator.Layout
	guard      clockguard.Limits
	capacity   int            // IDs in a tick
	sleep      generator.Tick // that a request may sleep for the sake of order
	hosts      []*host
	slots      []*slot
	conditions conditions
	net        *rand.Rand // latencies, and what is lost
	random     *rand.Rand // what else is left to chance, anew for each fault
	operators  *rand.Rand // what operators draw
	seen       map[int64]scheduler.Time
	highest    generator.Tick // of all ceilings, ever
	trust      bool           // daemons follow whatever their clocks show
	issuers    map[int]*slot  // which daemon has put a lane of a worker ID to use last
	writers    map[int]string // the holder of each record in this cluster that was stored last
	asking     *proc          // whose takes place; nil: nobody's, or an operator's
	record     memo[stored]
	cluster    memo[string]
	evidence   runEvidence
	order      int64  // of what was stored last
	text       string // of the layout
	conns      uint32 // that were made
	damaged    []*damage
	counts     Counts
	ends       Ends
	wrong      string
	healed     bool      // nothing goes wrong any more
	out        io.Writer // nil: no trace
}

// Counts is what happened in a run.
type Counts struct {
	Faults, OfClocks             int // those that took place
	IDs, Served, Refused, Events uint64
	Starts                       uint64
	Handovers                    uint64 // of worker IDs, from one daemon to another that issues
	Again, Released              uint64 // claims that were gone and made again; that were given back
	Unordered                    uint64 // runs out of the ring, or wherever there was room
	Drawn                        uint64 // runs of ticks before the request came, by a burst
	Rolled                       uint64 // ticks that began where the one before had stopped, and not at 0
	Simulated                    time.Duration
}

// Result is what came of a run.
type Result struct {
	Violation string // empty: none
	Counts    Counts
	Ends      Ends
	Digest    uint64 // the same for the same plan
}

// Run runs a plan until its end or the first violation. A trace goes to out, which may be nil.
func Run(p Plan, out io.Writer) (result Result) {
	sim := &Simulation{
		plan: p, tree: tree.New(p.Servers), out: out, ends: Ends{},
		seen: map[int64]scheduler.Time{}, issuers: map[int]*slot{}, record: memoOf(recordOf), cluster: memoOf(clusterOf),
		net: rand.New(rand.NewPCG(p.Seed, 1)), random: rand.New(rand.NewPCG(p.Seed, 2)), operators: rand.New(rand.NewPCG(p.Seed, 3)),
	}
	defer func() {
		if r := recover(); r != nil {
			sim.violate(nil, "panic: %v\n%s", r, debug.Stack())
		}
		for _, s := range sim.slots {
			if s.proc != nil {
				s.proc.dead = true
				for _, f := range s.proc.coroutines {
					f.End()
				}
			}
		}
		sim.scheduler.Close()
		sim.counts.Events, sim.counts.Simulated = sim.scheduler.Events(), time.Duration(sim.scheduler.Now())
		result = Result{Violation: sim.wrong, Counts: sim.counts, Ends: sim.ends, Digest: sim.scheduler.Sum() + sim.counts.IDs}
	}()
	sim.build()
	sim.scheduler.Run(p.Length)
	if p.Recover && !sim.over() {
		sim.heal()
		sim.scheduler.Run(p.Length + scheduler.Time(rest))
		if !sim.over() {
			sim.recovered()
		}
	}
	if !sim.over() {
		sim.verdict()
	}
	return result
}

// verdict ends a run in which nothing was seen at once.
func (sim *Simulation) verdict() {
	found := sim.judge()
	for _, text := range found {
		sim.say(nil, "the audit: %s", text)
	}
	if len(found) > 0 {
		sim.violate(nil, "the audit finds %d: %s", len(found), found[0])
	}
}

func (sim *Simulation) build() {
	p := sim.plan
	sim.header()
	var err error
	if sim.layout, err = generator.ParseLayout(p.Layout); err != nil {
		sim.violate(nil, "the plan's layout: %v", err)
		return
	}
	if sim.guard, err = lifecycle.Limits(sim.layout, 0, maxSleep); err != nil {
		sim.violate(nil, "the guard's limits: %v", err)
		return
	}
	sim.capacity = 1 << sim.layout.Bits(generator.Sequence)
	sim.sleep = max(1, generator.Tick(maxSleep/sim.layout.TickLength()))
	sim.tree.Opened, sim.tree.Unfenced = sim.open, p.Unfenced
	sim.tree.Stored, sim.tree.Deleted = sim.stores, sim.deleted
	sim.trust = p.Trust
	sim.text = sim.layout.String()
	for i, h := range p.Hosts {
		if h >= len(sim.hosts) {
			sim.hostOf(h)
		}
		s := &slot{number: i, burst: p.burst(i), host: sim.hosts[len(sim.hosts)-1], hostName: fmt.Sprintf("h%d", h)}
		sim.slots = append(sim.slots, s)
	}
	sim.evidence.hosts = make([]hostEvidence, len(sim.slots))
	sim.create(sim.layout.TickAt(begin.UnixNano()))
	for _, s := range sim.slots {
		sim.scheduler.At(scheduler.Time(sim.random.Int64N(5e8)), func() { sim.start(s) })
	}
	sim.conditions.deaf, sim.conditions.mute = make([]int, len(sim.hosts)), make([]int, len(sim.hosts))
	sim.conditions.quiet = make([]int, len(sim.slots))
	for _, f := range p.Faults {
		if f.Kind == Restored {
			var b *backup
			sim.scheduler.At(f.At-scheduler.Time(f.For), func() { b = sim.backup() })
			sim.scheduler.At(f.At, func() { sim.restore(f, b) })
			continue
		}
		sim.scheduler.At(f.At, func() { sim.inject(f) })
	}
	sim.remember()
}

// remember keeps an older state for hints that are old.
func (sim *Simulation) remember() {
	sim.older = sim.tree.Clone()
	sim.scheduler.At(sim.scheduler.Now()+scheduler.Time(5*time.Second), sim.remember)
}

// over reports whether there is nothing more to find out.
func (sim *Simulation) over() bool { return sim.wrong != "" }

// violate ends the run.
func (sim *Simulation) violate(s *slot, format string, args ...any) {
	if sim.wrong != "" {
		return
	}
	who := ""
	if s != nil {
		who = fmt.Sprintf("d%d: ", s.number)
	}
	sim.wrong = who + fmt.Sprintf(format, args...)
	sim.say(s, "VIOLATION: "+format, args...)
	sim.scheduler.Stop()
}

// say adds a line to the trace.
func (sim *Simulation) say(s *slot, format string, args ...any) {
	if sim.out == nil {
		return
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%13.6f  ", float64(sim.scheduler.Now())/1e9)
	if s != nil {
		fmt.Fprintf(&b, "d%d %+.6f  ", s.number, s.host.ahead().Seconds())
	} else {
		b.WriteString("-             ")
	}
	fmt.Fprintf(&b, format, args...)
	b.WriteByte('\n')
	_, _ = sim.out.Write(b.Bytes())
}

func (sim *Simulation) header() {
	if sim.out == nil {
		return
	}
	p := sim.plan
	fmt.Fprintf(sim.out, "seed %d: %d daemons on hosts %v, bursts %v, layout %s, servers %d, %+v, restart wait %v, session %v, a request each %v\n",
		p.Seed, len(p.Hosts), p.Hosts, p.Bursts, p.Layout, p.Servers, p.Timing, p.RestartWait, p.TTL, p.Load)
	for i, f := range p.Faults {
		fmt.Fprintf(sim.out, "fault %d: %s\n", i, f)
	}
	fmt.Fprintln(sim.out, "   true time   who, and how far its wall clock is off")
}

func (sim *Simulation) tickOf(id int64) generator.Tick {
	parts, _ := sim.layout.Decompose(id)
	return parts.Tick
}

// asOperator joins the cluster as operators do, past all that lies between.
func (sim *Simulation) asOperator() (*claims.Coordinator, error) {
	incarnation := fmt.Sprintf("operator%d", sim.operators.Uint64())
	c, err := claims.New(tree.NewStore(sim.plan.Servers, incarnation, false, beside{sim}),
		claims.Config{Identity: coord.Identity{Incarnation: incarnation}, Random: reader{sim.operators}, Clock: still{}})
	return c, err
}
