package simulation

import (
	"fmt"
	"iter"
	"slices"

	"github.com/flakeward/flakeward/audit"
	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/audit/history"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/sim/tree"
)

// runEvidence is the evidence that a run leaves: what daemons of a drill build write down, what
// clients of theirs record, and what the coordinator stored, tree by tree. A tree that is wiped
// becomes another cluster, which begins above all that was granted in the one before; a tree that
// is restored stays the same one.
type runEvidence struct {
	hosts   []hostEvidence // by daemon
	cluster string         // that the last tree is of
	floor   generator.Tick // that the first one was made with
	history []history.Version
	past    [][]history.Version
	raises  []audit.Raise
}

// hostEvidence is what a daemon and its clients have reported.
type hostEvidence struct {
	starts  []*startLog
	replies []reply
	runs    []evidence.Run // of the replies
}

// startLog is the log of one start of a daemon. Most of its events are of IDs.
type startLog struct {
	p      *proc
	began  evidence.Event
	all    []issued
	others []evidence.Event
}

// issued is an event of IDs; if there are none, of the next one of the others.
type issued struct {
	at    evidence.Mono
	first int64
	n     int
}

// reply is an evidence.Reply, whose IDs are among all.
type reply struct {
	connection      uint32
	outcome         evidence.Outcome
	asked, answered evidence.Mono
	from, to        int
}

func (l *startLog) each(step int64) iter.Seq[evidence.Event] {
	return func(yield func(evidence.Event) bool) {
		if !yield(l.began) {
			return
		}
		others := l.others
		for _, i := range l.all {
			e := evidence.Event{At: i.at, Kind: evidence.Issued, Run: evidence.Run{First: i.first, Step: step, N: i.n}}
			if i.n == 0 {
				e, others = others[0], others[1:]
			}
			if !yield(e) {
				return
			}
		}
	}
}

func (h *hostEvidence) each(yield func(evidence.Reply) bool) {
	if len(h.replies) == 0 { // its clients are still waiting
		yield(evidence.Reply{Asking: evidence.InRuns, Outcome: evidence.Unsent})
	}
	for _, r := range h.replies {
		e := evidence.Reply{Connection: r.connection, Asking: evidence.InRuns, Asked: r.asked, Answered: r.answered, Outcome: r.outcome, IDs: h.runs[r.from:r.to]}
		if !yield(e) {
			return
		}
	}
}

// startOf returns the log of a start of a daemon.
func (t *runEvidence) startOf(p *proc) *startLog {
	h := &t.hosts[p.slot.number]
	if n := len(h.starts); n > 0 && h.starts[n-1].p == p {
		return h.starts[n-1]
	}
	began := evidence.Event{At: evidence.Mono(p.began), Kind: evidence.Began, Host: p.slot.name(), Incarnation: p.incarnation, Layout: p.sim.text}
	l := &startLog{p: p, began: began}
	h.starts = append(h.starts, l)
	return l
}

// name is what the evidence calls a daemon.
func (s *slot) name() string { return fmt.Sprintf("d%d", s.number) }

// record implements record.Log.
func (p *proc) record(e evidence.Event) error {
	e.At = evidence.Mono(p.sim.scheduler.Now())
	l := p.sim.evidence.startOf(p)
	l.all = append(l.all, issued{e.At, e.Run.First, e.Run.N})
	if e.Kind != evidence.Issued {
		l.others = append(l.others, e)
	}
	return nil
}

// stores notes that the coordinator stored a record.
func (sim *Simulation) stores(worker int, value []byte) {
	r := sim.record.of(value)
	if p, cluster := sim.asking, sim.cluster.of(sim.tree.Layout()); p != nil && p.cluster != cluster {
		sim.violate(p.slot, "worker ID %d: writes in cluster %s, and has joined %s", worker, cluster, p.cluster)
	}
	sim.writers[worker] = r.Holder
	sim.highest = max(sim.highest, r.Ceiling)
	sim.order = max(sim.order+1, int64(sim.scheduler.Now())/1000) // as of its time, in microseconds
	sim.evidence.history = append(sim.evidence.history, r.version(sim.order, worker))
}

// made notes that an operator has made a cluster. Its floor is that of each opening, as after a
// raise.
func (sim *Simulation) made(floor generator.Tick) {
	t := &sim.evidence
	if t.cluster == "" {
		t.floor = floor
	} else {
		t.past, t.history = append(t.past, t.history), nil
		sim.raised(floor)
	}
	t.cluster = sim.cluster.of(sim.tree.Layout())
	sim.writers = map[int]string{}
}

// raised notes that an operator has raised the cluster's floor.
func (sim *Simulation) raised(to generator.Tick) {
	t := &sim.evidence
	t.raises = append(t.raises, audit.Raise{Tree: len(t.past), Last: len(t.past), Order: sim.order, At: evidence.Mono(sim.scheduler.Now()), Floor: to})
}

// backup is a copy of the tree, and the history of what is in it. There is none of a tree in which
// something is damaged.
type backup struct {
	tree    *tree.Tree
	history []history.Version
	raises  []int // that it has, among all
}

func (sim *Simulation) backup() *backup {
	if len(sim.damaged) > 0 {
		return nil
	}
	t := &sim.evidence
	b := &backup{tree: sim.tree.Clone(), history: slices.Clone(t.history)}
	for i, r := range t.raises {
		if r.Last == len(t.past) {
			b.raises = append(b.raises, i)
		}
	}
	return b
}

// restored notes that a backup is in the tree's place.
func (sim *Simulation) restored(b *backup) {
	t := &sim.evidence
	t.past = append(t.past, t.history)
	t.history = b.history
	for _, i := range b.raises {
		t.raises[i].Last = len(t.past)
	}
}

// received notes IDs that a request got so far.
func (c *conn) received(run generator.Run) {
	c.got = append(c.got, evidence.Run{First: run.First, Step: c.p.sim.layout.Step(), N: run.N})
}

// answered records a reply. One that is an error holds no IDs, whatever was taken for it.
func (c *conn) answered(outcome evidence.Outcome) {
	t, got := &c.p.sim.evidence.hosts[c.p.slot.number], c.got
	c.got = c.got[:0]
	if outcome == evidence.Refused {
		got = nil
	}
	from := len(t.runs)
	t.runs = append(t.runs, got...)
	t.replies = append(t.replies, reply{c.number, outcome, evidence.Mono(c.queue[0].at), evidence.Mono(c.p.sim.scheduler.Now()), from, len(t.runs)})
}

// judge has all evidence judged as that of the drills is, and returns what speaks against a daemon.
// Order is left out: the model of package audit knows clocks that are set, and takes until a
// hundred IDs later to be sure that one was. Here clocks drift, stand still and oscillate, and what
// each of them shows is known when an ID is issued: see ordered, which is exact.
func (sim *Simulation) judge() []string {
	t := &sim.evidence
	var hosts []audit.Reported
	for n := range t.hosts {
		h := &t.hosts[n]
		reported := audit.Reported{Name: sim.slots[n].name(), Replies: h.each}
		for _, l := range h.starts {
			reported.Starts = append(reported.Starts, l.each(sim.layout.Step()))
		}
		if len(reported.Starts) > 0 {
			hosts = append(hosts, reported)
		}
	}
	if sim.counts.IDs == 0 {
		return nil // there is nothing to judge
	}
	v, err := audit.JudgeReported(audit.Cluster{Layout: sim.layout, History: t.history, Floor: t.floor, Raises: t.raises, Past: t.past, Unordered: true, Lead: sim.plan.Lead, Wall: begin.UnixNano()}, hosts)
	found := v.Examples()
	if err != nil {
		found = append(found, err.Error())
	}
	if v.Issued != sim.counts.IDs && len(found) == 0 {
		found = append(found, fmt.Sprintf("the evidence is of %d IDs, and %d were issued", v.Issued, sim.counts.IDs))
	}
	return found
}
