// Package world simulates a whole cluster from one seed: daemons made of the real generator, clock
// guard, issuer, journal, lending and grant code, on simulated clocks and disks, with a simulated
// coordinator that is out to get them. It judges every ID that is issued at once, which ends a run
// where it goes wrong; in the end package audit judges the evidence that the run leaves, as it does
// that of the drills.
package world

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/claims"
	lifetime "github.com/flakeward/flakeward/daemon/life"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/sim/disk"
	"github.com/flakeward/flakeward/sim/scheduler"
	"github.com/flakeward/flakeward/sim/tree"
)

// begin is what a right wall clock shows at the beginning.
var begin = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// World is a cluster being simulated.
type World struct {
	plan     Plan
	line     scheduler.Line
	tree     *tree.Tree
	older    *tree.Tree // for hints and plain reads that are old
	layout   *generator.Layout
	guard    clockguard.Limits
	capacity int            // IDs in a tick
	sleep    generator.Tick // that a request may sleep for the sake of order
	hosts    []*host
	slots    []*slot
	weather  weather
	net      *rand.Rand // latencies, and what is lost
	fate     *rand.Rand // what else is left to chance, anew for each fault
	people   *rand.Rand // what operators draw
	seen     map[int64]scheduler.Time
	highest  generator.Tick // of all ceilings, ever
	books    map[place]*ledger
	truth    truth
	serving  *slot // whose request took place last
	asking   *proc // whose takes place; nil: nobody's, or an operator's
	places   bool  // journals may lie elsewhere than where they were written
	record   memo[stored]
	cluster  memo[string]
	evidence map[string]*testimony // by cluster
	clusters []string              // in the order of their making
	order    int64                 // of what was stored last
	text     string                // of the layout
	conns    uint32                // that were made
	damaged  []*damage
	// strayUntil is until when what a daemon of a wrong configuration has asked may still arrive.
	strayUntil scheduler.Time
	counts     Counts
	wrong      string
	healed     bool      // nothing goes wrong any more
	out        io.Writer // nil: no trace
}

// Counts is what happened in a run.
type Counts struct {
	Faults, OfClocks             int // those that took place
	IDs, Served, Refused, Events uint64
	ColdStarts, Starts           uint64
	Handovers                    uint64        // of worker IDs, from one daemon to another that issues
	Continued, Released          uint64        // claims that went on from what was there; that were given back
	Unordered                    uint64        // runs out of the ring, or wherever there was room
	Drawn                        uint64        // runs of ticks before the request came, by a burst
	Elsewhere                    uint64        // runs of another lane than the connection's own
	Copies, Parted, Apart        uint64        // daemons on a copy of a state directory; that got a worker ID; and another than their original had
	Calmly                       uint64        // copies with nothing in their way, that got one in time
	Parting                      time.Duration // until copies got one
	Simulated                    time.Duration
}

// Result is what came of a run.
type Result struct {
	Violation string // empty: none
	Counts    Counts
	Digest    uint64 // the same for the same plan
}

// Run runs a plan until its end or the first violation. A trace goes to out, which may be nil.
func Run(p Plan, out io.Writer) (result Result) {
	w := &World{
		plan: p, tree: tree.New(p.Servers), out: out,
		seen: map[int64]scheduler.Time{}, books: map[place]*ledger{}, record: memoOf(recordOf), cluster: memoOf(clusterOf), evidence: map[string]*testimony{},
		net: rand.New(rand.NewPCG(p.Seed, 1)), fate: rand.New(rand.NewPCG(p.Seed, 2)), people: rand.New(rand.NewPCG(p.Seed, 3)),
	}
	defer func() {
		if r := recover(); r != nil {
			w.violate(nil, "panic: %v\n%s", r, debug.Stack())
		}
		for _, s := range w.slots {
			if s.proc != nil {
				s.proc.dead = true
				for _, f := range s.proc.flows {
					f.End()
				}
			}
		}
		w.counts.Events, w.counts.Simulated = w.line.Events(), time.Duration(w.line.Now())
		result = Result{Violation: w.wrong, Counts: w.counts, Digest: w.line.Sum() + w.counts.IDs}
	}()
	w.build()
	w.line.Run(p.Length)
	if p.Recover && !w.over() {
		w.heal()
		w.line.Run(p.Length + scheduler.Time(rest))
		if !w.over() {
			w.recovered()
		}
	}
	if !w.over() {
		w.verdict()
	}
	return result
}

// verdict ends a run in which nothing was seen at once.
func (w *World) verdict() {
	found := w.judge()
	for _, text := range found {
		w.say(nil, "the audit: %s", text)
	}
	if len(found) > 0 {
		w.violate(nil, "the audit finds %d: %s", len(found), found[0])
	}
}

func (w *World) build() {
	p := w.plan
	w.header()
	var err error
	if w.layout, err = generator.ParseLayout(p.Layout); err != nil {
		w.violate(nil, "the plan's layout: %v", err)
		return
	}
	if w.guard, err = lifetime.Limits(w.layout, 0, maxSleep); err != nil {
		w.violate(nil, "the guard's limits: %v", err)
		return
	}
	w.capacity = 1 << w.layout.Bits(generator.Sequence)
	w.sleep = max(1, generator.Tick(maxSleep/w.layout.TickLength()))
	w.tree.Opened, w.tree.Unfenced = w.open, p.Unfenced
	w.tree.Stored, w.tree.Deleted = w.stores, w.deleted
	w.places = slices.ContainsFunc(p.Faults, func(f Fault) bool { return f.Kind >= drawn })
	w.text = w.layout.String()
	for i, h := range p.Hosts {
		if h >= len(w.hosts) {
			w.hostOf(h)
		}
		s := &slot{number: i, draws: p.draws(i), host: w.hosts[len(w.hosts)-1], hostName: fmt.Sprintf("h%d", h), disk: &disk.Disk{Lies: p.Lying}, acked: map[place]generator.Tick{}}
		for range p.lanes()[i] - 1 {
			s.others = append(s.others, &disk.Disk{Lies: p.Lying})
		}
		s.settle()
		s.home = make([]bool, len(s.disks()))
		w.slots = append(w.slots, s)
	}
	for _, s := range w.slots {
		w.line.At(scheduler.Time(w.fate.Int64N(5e8)), func() { w.start(s) })
	}
	w.copies()
	w.weather.deaf, w.weather.mute, w.weather.slowed = make([]int, len(w.hosts)), make([]int, len(w.hosts)), make([]int, len(w.slots))
	for _, f := range p.Faults {
		if f.Kind == Restored {
			var b *backup
			w.line.At(f.At-scheduler.Time(f.For), func() { b = w.backup() })
			w.line.At(f.At, func() { w.restore(f, b) })
			continue
		}
		w.line.At(f.At, func() { w.strike(f) })
	}
	w.remember()
}

// remember keeps an older state for hints that are old.
func (w *World) remember() {
	w.older = w.tree.Clone()
	w.line.At(w.line.Now()+scheduler.Time(5*time.Second), w.remember)
}

// over reports whether there is nothing more to find out.
func (w *World) over() bool { return w.wrong != "" }

// violate ends the run.
func (w *World) violate(s *slot, format string, args ...any) {
	if w.wrong != "" {
		return
	}
	who := ""
	if s != nil {
		who = fmt.Sprintf("d%d: ", s.number)
	}
	w.wrong = who + fmt.Sprintf(format, args...)
	w.say(s, "VIOLATION: "+format, args...)
	w.line.Stop()
}

// say adds a line to the trace.
func (w *World) say(s *slot, format string, args ...any) {
	if w.out == nil {
		return
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%13.6f  ", float64(w.line.Now())/1e9)
	if s != nil {
		at := s.host.read()
		fmt.Fprintf(&b, "d%d %+.6f  ", s.number, float64(at.Wall-begin.UnixNano()-int64(w.line.Now()))/1e9)
	} else {
		b.WriteString("-             ")
	}
	fmt.Fprintf(&b, format, args...)
	b.WriteByte('\n')
	_, _ = w.out.Write(b.Bytes())
}

func (w *World) header() {
	if w.out == nil {
		return
	}
	p := w.plan
	fmt.Fprintf(w.out, "seed %d: %d daemons on hosts %v, lanes %v, bursts %v, layout %s, servers %d, %+v, session %v, a request each %v, copies %+v, hosts without an identity %v\n",
		p.Seed, len(p.Hosts), p.Hosts, p.Lanes, p.Draws, p.Layout, p.Servers, p.Timing, p.TTL, p.Load, p.Copies, p.Nameless)
	for i, f := range p.Faults {
		fmt.Fprintf(w.out, "fault %d: %s\n", i, f)
	}
	fmt.Fprintln(w.out, "   true time   who, and how far its wall clock is off")
}

func (w *World) tickOf(id int64) generator.Tick {
	parts, _ := w.layout.Decompose(id)
	return parts.Tick
}

// asOperator joins the cluster as people do, past all that lies between.
func (w *World) asOperator() (*claims.Coordinator, error) {
	incarnation := fmt.Sprintf("operator%d", w.people.Uint64())
	c, err := claims.New(tree.NewStore(w.plan.Servers, incarnation, false, beside{w}),
		claims.Config{Identity: coord.Identity{Incarnation: incarnation}, Random: reader{w.people}, Clock: still{}})
	return c, err
}
