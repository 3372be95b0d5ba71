package audit

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/generator"
)

// slow is how long after a lane was closed its IDs may still be recorded, where the same start has
// claimed the worker ID again. The lane is closed before the first grant of the new claim is asked
// for. Where it was released, closing is what counts, and there is no such limit.
const slow = evidence.Mono(time.Second)

// holder is a lane in one start of a daemon, with the range of ticks that it issued.
type holder struct {
	start       *start
	low, high   generator.Tick
	first, last key // of low and high
	issued      bool
}

// held is what was issued under one opening.
type held struct {
	opening string
	known   *opening       // nil: the coordinator does not know it
	floor   generator.Tick // of its grants
	last    generator.Tick // when it was given back; none: it was not
	start   *start         // that issued that
	high    key            // of the highest tick
	issued  bool
}

// lane is what one start has of one worker ID. A start goes on from nothing that one before it had.
type lane struct {
	worker int
	holder *holder
	before *former // the lane that was closed for this one, in the same start
	grant          // of the last claim
}

// grant is what may be issued from.
type grant struct {
	under   *held          // nil: nothing was claimed
	ceiling generator.Tick // acknowledged; none: nothing was
	closed  bool           // it is being given back
}

// former is a lane that was replaced in the same start by another of the same worker ID.
type former struct {
	holder *holder
	grant
	at evidence.Mono // when the first grant of the other was asked for; always: not yet
}

// grants judges the daemons' logs by Granted and Disjoint.
type grants struct {
	*court
	past    past
	holders map[int][]*holder // by worker ID
	held    []*held
	under   map[string]*held // by opening: the last claim of it
	start   *start           // that is judged
	lanes   map[int]*lane    // of the start, by worker ID
	told    *told            // the start
	clock   *clock           // the host's
}

// grants returns the clocks of the hosts as well: when a step of one took effect, and until when it
// mattered, can be told from what was issued.
func (j *court) grants(p past) ([]*clock, error) {
	g := &grants{court: j, past: p, holders: map[int][]*holder{}, under: map[string]*held{}}
	for _, v := range p.stray {
		j.verdict.against(Granted, Unfenced, 1, func() string {
			return fmt.Sprintf("at %d the coordinator stored ceiling %d of worker ID %d for opening %s, after another had taken the record over", v.Order, v.Ceiling, v.Worker, v.Holder)
		})
	}
	clocks := make([]*clock, len(j.sites))
	for i := range j.starts {
		l := &j.starts[i]
		if clocks[l.host] == nil {
			clocks[l.host] = newClock(j.sites[l.host].steps)
		}
		g.start, g.lanes, g.told, g.clock = l, map[int]*lane{}, newTold(p), clocks[l.host]
		if err := g.judge(l); err != nil {
			return nil, fmt.Errorf("audit: %w", err)
		}
		j.verdict.Hosts[l.host].Starts++
	}
	g.judgeRecords()
	g.judgeLowered()
	g.judgeHolders()
	return clocks, nil
}

// judge goes through one start.
func (g *grants) judge(l *start) error {
	begun := false
	return l.log.read(func(e evidence.Event) error {
		if begun == (e.Kind == evidence.Began) {
			return fmt.Errorf("%s: one start of a daemon is not what it holds", l.log.name)
		}
		if e.Kind > evidence.Issued && (e.Worker < 0 || e.Worker >= g.workers) {
			return fmt.Errorf("%s: the layout has no worker ID %d", l.log.name, e.Worker)
		}
		g.told.hears(e)
		switch e.Kind {
		case evidence.Began:
			begun = true
		case evidence.Issued:
			return g.run(e)
		case evidence.Claimed:
			g.claimed(e)
		case evidence.Extended:
			g.extended(e)
		case evidence.Releasing:
			if h := g.under[e.Opening]; h != nil && (h.last == none || e.Last < h.last) {
				h.last = e.Last
			}
			if l := g.lane(e.Worker); l.under != nil && l.under.opening == e.Opening {
				l.ceiling, l.closed = min(l.ceiling, e.Last), true
			}
		case evidence.Extending:
			g.extending(e)
		case evidence.Released, evidence.Claiming, evidence.Failed: // what was stored is in the history
		default:
			return fmt.Errorf("%s: there is no event of kind %d", l.log.name, e.Kind)
		}
		return nil
	})
}

// lane returns the start's lane of a worker ID.
func (g *grants) lane(worker int) *lane {
	l := g.lanes[worker]
	if l == nil {
		l = &lane{worker: worker, grant: grant{ceiling: none}}
		g.lanes[worker] = l
	}
	return l
}

// holder makes the lane's, if it has none yet.
func (g *grants) holder(l *lane) *holder {
	if l.holder == nil {
		l.holder = &holder{start: g.start}
		g.holders[l.worker] = append(g.holders[l.worker], l.holder)
	}
	return l.holder
}

// run judges what was issued.
func (g *grants) run(e evidence.Event) error {
	host := &g.verdict.Hosts[g.start.host]
	g.verdict.Issued += uint64(e.Run.N)
	host.Issued += uint64(e.Run.N)
	whole, err := g.split(e.Run, func(r row) {
		worker := g.workerOf(r.from)
		g.clock.issued(e.At, worker, g.tickOf(r.from))
		g.issued(e.At, g.lane(worker), r)
		g.timely(e.At, g.start, r)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", g.start.log.name, err)
	}
	if !whole {
		g.verdict.against(Unique, NoID, uint64(e.Run.N), func() string {
			return fmt.Sprintf("%d, and %d more in steps of %d, recorded by %s at %s", e.Run.First, e.Run.N-1, e.Run.Step, g.startName(g.start), g.when(e.At))
		})
	}
	return nil
}

func (g *grants) issued(at evidence.Mono, l *lane, r row) {
	tick := g.tickOf(r.from)
	if b := l.before; b != nil && tick <= l.under.floor && tick <= b.ceiling && (b.at == always || at < b.at+slow) {
		b.holder.note(g, r.from)
		g.recordedLate(b, l, r.from)
		return
	}
	if tick > l.ceiling {
		g.verdict.against(Granted, AboveCeiling, uint64(r.n), func() string {
			return fmt.Sprintf("%s, %d in a row, was issued by %s at %s; acknowledged was %s", g.describe(r.from), r.n, g.startName(g.start), g.when(at), l.granted())
		})
	}
	if l.under != nil && tick <= l.under.floor {
		g.verdict.against(Disjoint, BelowFloor, uint64(r.n), func() string {
			return fmt.Sprintf("%s, %d in a row, was issued by %s at %s under opening %s, whose floor is %d", g.describe(r.from), r.n, g.startName(g.start), g.when(at), l.under.opening, l.under.floor)
		})
	}
	if floor, cut := g.told.cuts(l.under, at); cut && tick > floor {
		g.verdict.against(Granted, Uncut, uint64(r.n), func() string {
			return fmt.Sprintf("%s, %d in a row, was issued by %s at %s under opening %s; it knew that the cluster's floor had been raised to %d since", g.describe(r.from), r.n,
				g.startName(g.start), g.when(at), l.under.opening, floor)
		})
	}
	l.under.note(g, r.from)
	g.holder(l).note(g, r.from)
}

// granted describes to a reader what may be issued.
func (t *grant) granted() string {
	switch {
	case t.ceiling == none:
		return "no ceiling"
	case t.closed:
		return fmt.Sprintf("ceiling %d, the last tick when it was given back, under opening %s", t.ceiling, t.under.opening)
	default:
		return fmt.Sprintf("ceiling %d, under opening %s", t.ceiling, t.under.opening)
	}
}

func (h *held) note(g *grants, k key) {
	if h != nil && (!h.issued || g.tickOf(k) > g.tickOf(h.high)) {
		h.high, h.start, h.issued = k, g.start, true
	}
}

func (h *holder) note(g *grants, k key) {
	t := g.tickOf(k)
	if !h.issued || t < h.low {
		h.low, h.first = t, k
	}
	if !h.issued || t > h.high {
		h.high, h.last = t, k
	}
	h.issued = true
}

// claimed begins a lane.
func (g *grants) claimed(e evidence.Event) {
	l := g.lane(e.Worker)
	known := g.past.openings[e.Opening]
	if known != nil && known.worker != e.Worker {
		known = nil
	}
	if known == nil {
		g.verdict.against(Granted, UnknownClaim, 1, func() string {
			return fmt.Sprintf("%s was given worker ID %d at %s with opening %s, which the coordinator's history does not have", g.startName(g.start), e.Worker, g.when(e.At), e.Opening)
		})
	} else if e.Floor < known.found {
		g.verdict.against(Disjoint, LowFloor, 1, func() string {
			return fmt.Sprintf("%s was given worker ID %d at %s with opening %s and floor %d; all up to %d may be another's", g.startName(g.start), e.Worker, g.when(e.At), e.Opening, e.Floor, known.found)
		})
	}
	floor := e.Floor
	if known != nil {
		floor = max(floor, known.found)
	}
	now := &held{opening: e.Opening, known: known, floor: floor, last: none, start: g.start}
	g.held = append(g.held, now)
	g.under[e.Opening] = now
	if l.holder != nil {
		l.before = &former{holder: l.holder, grant: l.grant, at: always}
	}
	l.grant, l.holder = grant{under: now, ceiling: none}, nil
}

// extending ends the lane before, if that has not ended yet.
func (g *grants) extending(e evidence.Event) {
	if l := g.lane(e.Worker); l.before != nil && l.before.at == always && l.under.opening == e.Opening {
		l.before.at = e.At
	}
}

// extended raises what is acknowledged, if the history says that it was stored.
func (g *grants) extended(e evidence.Event) {
	stored, acknowledged := none, false
	if o := g.past.openings[e.Opening]; o != nil && o.worker == e.Worker {
		stored, acknowledged = o.highest, o.acknowledged(e.Ceiling)
	}
	if !acknowledged {
		g.verdict.against(Granted, Unacknowledged, 1, func() string {
			return fmt.Sprintf("%s was told at %s that ceiling %d of worker ID %d is stored, under opening %s; the highest that the coordinator's history has of it is %s",
				g.startName(g.start), g.when(e.At), e.Ceiling, e.Worker, e.Opening, ceilingName(stored))
		})
	}
	l := g.lane(e.Worker)
	if l.under == nil || l.under.opening != e.Opening {
		return
	}
	if acknowledged && !l.closed {
		l.ceiling = max(l.ceiling, e.Ceiling)
	}
}

// ceilingName names a ceiling that may be none.
func ceilingName(t generator.Tick) string {
	if t == none {
		return "none"
	}
	return fmt.Sprint(t)
}

// judgeRecords looks whether each opening left the record at or above all that was issued under it.
func (g *grants) judgeRecords() {
	for _, h := range g.held {
		if !h.issued || h.known == nil || h.known.left >= g.tickOf(h.high) {
			continue
		}
		g.verdict.against(Granted, LeftBelow, 1, func() string {
			return fmt.Sprintf("%s was issued by %s under opening %s, which left the record at ceiling %d", g.describe(h.high), g.startName(h.start), h.opening, h.known.left)
		})
	}
}

// judgeLowered looks whether each ceiling that fell was given back by its holder: by one that had
// closed its lane, and down to what it found or to its last tick, whichever is higher.
func (g *grants) judgeLowered() {
	for _, v := range g.past.lowered {
		least := "nobody has given it back"
		if h := g.under[v.Holder]; !v.opens && h != nil && h.last != none {
			to := max(h.floor, h.last)
			if v.Ceiling >= to {
				continue
			}
			least = fmt.Sprintf("it was given back down to %d", to)
		}
		g.verdict.against(Granted, Lowered, 1, func() string {
			return fmt.Sprintf("at %d the coordinator stored ceiling %d of worker ID %d under opening %s, where it had been %d: %s", v.Order, v.Ceiling, v.Worker, v.Holder, v.from, least)
		})
	}
}

// judgeHolders checks whether the ranges of ticks of a worker ID's holders are disjoint.
func (g *grants) judgeHolders() {
	for worker, all := range g.holders {
		all = slices.DeleteFunc(all, func(h *holder) bool { return !h.issued })
		slices.SortStableFunc(all, func(a, b *holder) int {
			return cmp.Or(cmp.Compare(a.low, b.low), cmp.Compare(a.high, b.high))
		})
		var furthest *holder
		for _, h := range all {
			if furthest != nil && h.low <= furthest.high {
				f := furthest
				g.verdict.against(Disjoint, Overlap, 1, func() string {
					return fmt.Sprintf("worker ID %d, ticks %d to %d by %s (last ID %d), and %d to %d by %s (first ID %d)", worker,
						f.low, f.high, g.startName(f.start), g.id(f.last), h.low, h.high, g.startName(h.start), g.id(h.first))
				})
			}
			if furthest == nil || h.high > furthest.high {
				furthest = h
			}
		}
	}
}
