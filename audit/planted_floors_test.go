package audit

import (
	"slices"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/audit/history"
	"github.com/flakeward/flakeward/generator"
)

// store has the coordinator store a ceiling under a lease's opening.
func (l *lease) store(ceiling generator.Tick) {
	l.s.records[l.worker].Ceiling = ceiling
	l.s.store(l.worker)
}

// giveBack has the lease given back, and the coordinator store a ceiling.
func (l *lease) giveBack(last, ceiling generator.Tick) {
	l.describe(evidence.Event{Kind: evidence.Releasing, Last: last})
	l.store(ceiling)
}

// A record's ceiling only rises, but for a release: down to the opening's floor or to the last
// tick.
func TestPlantedLowerings(t *testing.T) {
	const most = 1000 // ticks of a grant
	// second is a lease of worker ID 9 whose floor is above 0.
	second := func(s *stage) (l *lease, floor generator.Tick) {
		first := s.lend(1, 9, most)
		return s.lend(0, 9, most), first.ceiling
	}
	testPlanted(t, []planted{
		{"given back down to the last tick", func(s *stage) {
			l, _ := second(s)
			l.issue(l.ceiling-100, 0)
			l.giveBack(l.ceiling-100, l.ceiling-100)
		}, kinds{}},
		{"given back down to less than the last tick, which nobody was given", func(s *stage) {
			l, _ := second(s)
			l.giveBack(l.ceiling-100, l.ceiling-101)
		}, kinds{Lowered: 1}},
		{"given back down to the floor", func(s *stage) {
			l, floor := second(s)
			l.giveBack(0, floor)
		}, kinds{}},
		{"given back down to less than the floor", func(s *stage) {
			l, floor := second(s)
			l.giveBack(0, floor-1)
		}, kinds{Lowered: 1}},
		{"given back twice, and down to the lower last tick", func(s *stage) {
			l, _ := second(s)
			l.describe(evidence.Event{Kind: evidence.Releasing, Last: l.ceiling - 200})
			l.giveBack(l.ceiling-100, l.ceiling-200)
		}, kinds{}},
		{"lowered, and not given back", func(s *stage) {
			l, _ := second(s)
			l.store(l.ceiling - 1)
		}, kinds{Lowered: 1}},
		{"lowered, not given back, and raised again", func(s *stage) {
			l, _ := second(s)
			l.store(l.ceiling - 1)
			l.store(l.ceiling)
			l.issue(l.ceiling, 0)
		}, kinds{Lowered: 1}},
		{"given back by another opening", func(s *stage) {
			l, _ := second(s)
			next := s.lend(0, 9, most)
			l.describe(evidence.Event{Kind: evidence.Releasing, Last: next.ceiling - 1})
			next.store(next.ceiling - 1)
		}, kinds{Lowered: 1}},
		{"lowered by an opening", func(s *stage) {
			l, _ := second(s)
			s.records[9].Holder = s.draw()
			l.store(l.ceiling - 1)
		}, kinds{Lowered: 1}},
		{"lowered by an opening that is given back later", func(s *stage) {
			first := s.lend(0, 9, most)
			next := &lease{s: s, host: 1, worker: 9, opening: s.draw()}
			s.records[9].Holder = next.opening
			next.store(first.ceiling - 1)
			next.describe(evidence.Event{Kind: evidence.Claimed, Floor: first.ceiling})
			next.describe(evidence.Event{Kind: evidence.Releasing, Last: 0})
		}, kinds{Lowered: 1}},
	})
}

// extending has the lease's daemon ask for more.
func (l *lease) extending(call uint64) {
	l.describe(evidence.Event{Kind: evidence.Extending, Call: call})
}

// told has the call answered that it asked with: it is refused.
func (l *lease) told(call uint64) {
	l.describe(evidence.Event{Kind: evidence.Failed, Call: call, Ending: evidence.Denied})
}

// knows has the lease's daemon learn of what was raised, and some time pass.
func (l *lease) knows() {
	l.extending(1000)
	l.told(1000)
	l.s.now += slow + 1
}

// The floor of a cluster is one of each opening after the raise, and cuts the lanes of before.
func TestPlantedRaises(t *testing.T) {
	const most = 1000 // ticks of a grant
	// above has the floor raised to far above what a new lease is granted from.
	above := func(s *stage) generator.Tick {
		_, tick := s.newest(0)
		s.raise(tick + 5*most)
		return tick + 5*most
	}
	// below has the floor raised within a lease's grant.
	below := func(s *stage) (*lease, generator.Tick) {
		l := s.lend(0, 9, most)
		s.raise(l.ceiling - most/2)
		return l, l.ceiling - most/2
	}
	testPlanted(t, []planted{
		{"opened at the floor after a raise", func(s *stage) {
			floor := above(s)
			s.records[9] = &history.Version{Ceiling: floor}
			l := s.lend(0, 9, most)
			l.issue(floor+1, 0)
		}, kinds{}},
		{"opened below the floor after a raise", func(s *stage) {
			floor := above(s)
			s.records[9] = &history.Version{Ceiling: floor - 1}
			s.lend(0, 9, most)
		}, kinds{LowFloor: 1}},
		{"opened below the floor after a raise, and issued from", func(s *stage) {
			floor := above(s)
			s.records[9] = &history.Version{Ceiling: floor - 1}
			s.lend(0, 9, most).issue(floor, 0)
		}, kinds{LowFloor: 1, BelowFloor: 1}},
		{"opened below the floor after a raise, at the record's ceiling", func(s *stage) {
			s.lend(1, 9, most)
			above(s)
			s.lend(0, 9, most)
		}, kinds{LowFloor: 1}},
		{"opened below the highest of two floors", func(s *stage) {
			floor := above(s)
			s.raises = append(s.raises, s.raises[0])
			s.raises[1].Floor -= 10
			s.records[9] = &history.Version{Ceiling: floor - 1}
			s.lend(0, 9, most)
		}, kinds{LowFloor: 1}},
		{"opened below a floor that was raised later", func(s *stage) {
			s.lend(0, 9, most)
			above(s)
		}, kinds{}},
		{"opened below a floor that was raised in a tree before", func(s *stage) {
			above(s)
			s.past = append(s.past, s.stored)
			s.lend(0, 9, most)
		}, kinds{}},
		{"opened below a floor that was raised in a tree before, and put back", func(s *stage) {
			above(s)
			s.past = append(s.past, s.stored)
			s.raises[0].Last = 1
			s.lend(0, 9, most)
		}, kinds{LowFloor: 1}},
		{"opened below a floor that was raised after the copy that was put back", func(s *stage) {
			s.lend(0, 9, most)
			above(s)
			s.past = append(s.past, s.stored)
			s.stored = slices.Clone(s.stored)
			s.raises[0].Last = 1
		}, kinds{}},

		{"above a floor that was raised, and not knowing of it", func(s *stage) {
			l, floor := below(s)
			s.now += slow + 1
			l.issue(floor+1, 0)
		}, kinds{}},
		{"above a floor that was raised, and knowing of it", func(s *stage) {
			l, floor := below(s)
			l.knows()
			l.issue(floor+1, 0)
		}, kinds{Uncut: 1}},
		{"above a floor that was raised, and asked at that instant", func(s *stage) {
			l, floor := below(s)
			s.raises[0].At = s.now
			l.knows()
			l.issue(floor+1, 0)
		}, kinds{Uncut: 1}},
		{"at a floor that was raised", func(s *stage) {
			l, floor := below(s)
			l.knows()
			l.issue(floor, 0)
		}, kinds{}},
		{"above a floor that was raised, and recorded late", func(s *stage) {
			l, floor := below(s)
			l.knows()
			s.now--
			l.issue(floor+1, 0)
		}, kinds{}},
		{"above the floor of the raise that was known first", func(s *stage) {
			l, floor := below(s)
			l.knows()
			s.raise(floor + 10)
			s.lend(0, 10, 5*most).knows()
			l.issue(floor+1, 0)
		}, kinds{Uncut: 1, LowFloor: 1}},
		{"above the floor of a raise, of which only a later one was known", func(s *stage) {
			l, floor := below(s)
			s.raise(floor + 10)
			l.knows()
			l.issue(floor+10, 0)
		}, kinds{}},
		{"above the floor of a raise, of which only a later one was known, that went with its tree", func(s *stage) {
			l, floor := below(s)
			s.raise(floor + 10)
			l.knows()
			l.issue(floor+10, 0)
			s.past = append(s.past, s.stored)
			s.stored = slices.Clone(s.stored)
			s.raises[0].Last = 1
		}, kinds{}},
		{"above the floor of the later of two raises", func(s *stage) {
			l, floor := below(s)
			s.raise(floor + 10)
			l.knows()
			l.issue(floor+11, 0)
		}, kinds{Uncut: 1}},
		{"above the floor of a raise, where a later one was made before the answer", func(s *stage) {
			l, floor := below(s)
			l.extending(1000)
			s.now++
			s.raise(floor + 10)
			l.told(1000)
			s.now += slow + 1
			l.issue(floor+10, 0)
			l.issue(floor+11, 0)
		}, kinds{Uncut: 1}},
		{"above a floor, and opened just before the raise", func(s *stage) {
			l, floor := below(s)
			i := slices.IndexFunc(s.stored, func(v history.Version) bool { return v.Holder == l.opening })
			s.raises[0].Order = s.stored[i].Order
			l.knows()
			l.issue(floor+1, 0)
		}, kinds{Uncut: 1}},
		{"above a floor, and from what was opened after the raise", func(s *stage) {
			_, floor := below(s)
			l := s.lend(0, 10, 5*most)
			l.knows()
			l.issue(max(floor+1, l.ceiling-1), 0)
		}, kinds{LowFloor: 1}},
		{"above a floor, and who knows is another host", func(s *stage) {
			l, floor := below(s)
			s.lend(1, 10, 5*most).knows()
			l.issue(floor+1, 0)
		}, kinds{LowFloor: 1}},
		{"above a floor, and who knows is another daemon of that host", func(s *stage) {
			s.begun(0)
			l, floor := below(s)
			other := &s.hosts[0].starts[len(s.hosts[0].starts)-2]
			for _, e := range []evidence.Event{{Kind: evidence.Extending}, {Kind: evidence.Failed, Ending: evidence.Denied}} {
				e.At, e.Call, e.Worker, e.Opening = s.now, 1000, 3, "x"
				*other = append(*other, e)
			}
			s.now += slow + 1
			l.issue(floor+1, 0)
		}, kinds{}},
		{"above a floor, and who knew is killed", func(s *stage) {
			l, floor := below(s)
			l.knows()
			s.begun(0)
			l.issue(floor+1, 0)
		}, kinds{AboveCeiling: 1}},
		{"above a floor, and the call began before the raise", func(s *stage) {
			l := s.lend(0, 9, most)
			l.extending(1000)
			s.now++
			s.raise(l.ceiling - most/2)
			l.told(1000)
			s.now += slow + 1
			l.issue(l.ceiling, 0)
		}, kinds{}},
		{"above a floor, and the call has no answer", func(s *stage) {
			l, floor := below(s)
			l.extending(1000)
			l.describe(evidence.Event{Kind: evidence.Failed, Call: 1000, Ending: evidence.Unclear})
			s.now += slow + 1
			l.issue(floor+1, 0)
		}, kinds{}},
		{"above a floor, and the call was one on what was lost before", func(s *stage) {
			lost := s.lend(0, 10, most)
			lost.extending(999)
			lost.told(999)
			s.now++
			l, floor := below(s)
			lost.knows()
			l.issue(floor+1, 0)
		}, kinds{}},
		{"above a floor, and a claim shows it", func(s *stage) {
			l, floor := below(s)
			l.describe(evidence.Event{Kind: evidence.Claiming, Call: 1000})
			s.records[10] = &history.Version{Ceiling: floor}
			s.lend(0, 10, most)
			for i := range s.end(0) {
				if e := &s.end(0)[i]; e.Kind == evidence.Claimed && e.Worker == 10 {
					e.Call = 1000
				}
			}
			s.now += slow + 1
			l.issue(floor+1, 0)
		}, kinds{Uncut: 1}},
		{"above a floor, and a second refusal of a claim shows it", func(s *stage) {
			l := s.lend(0, 9, most)
			for call := range uint64(2) {
				l.describe(evidence.Event{Kind: evidence.Claiming, Call: 1000 + call})
				l.told(1000 + call)
				if call == 0 {
					s.now++
					s.raise(l.ceiling - most/2)
				}
			}
			s.now += slow + 1
			l.issue(l.ceiling, 0)
		}, kinds{Uncut: 1}},
		{"above a floor of a tree that was put back, from what was opened before the raise", func(s *stage) {
			l, floor := below(s)
			s.past = append(s.past, s.stored)
			s.raises[0].Last = 1
			l.knows()
			l.issue(floor+1, 0)
		}, kinds{Uncut: 1}},
		{"above a floor of a tree that was put back, from what was opened after the raise", func(s *stage) {
			floor := above(s)
			s.records[9] = &history.Version{Ceiling: floor}
			l := s.lend(0, 9, most)
			s.past = append(s.past, s.stored)
			s.raises[0].Last = 1
			l.knows()
			l.issue(floor+1, 0)
		}, kinds{}},
		{"above a floor of a tree that another has replaced", func(s *stage) {
			l, floor := below(s)
			l.knows()
			s.past = append(s.past, s.stored)
			l.issue(floor+1, 0)
		}, kinds{}},
		{"above a floor that was raised when a tree was put back", func(s *stage) {
			l := s.lend(0, 9, most)
			s.past = append(s.past, s.stored)
			s.raise(l.ceiling - most/2)
			s.raises[0].Order = 0 // the orders of a tree that was put back begin before that
			l.knows()
			l.issue(l.ceiling, 0)
		}, kinds{Uncut: 1}},
	})
}

// A raise of a tree that is not there is an error.
func TestRaiseOfNoTree(t *testing.T) {
	for _, r := range []Raise{{Tree: -1}, {Tree: 1, Last: 1}, {Last: 1}, {Tree: 0, Last: -1}} {
		s := newStage(t)
		s.raises = []Raise{r}
		c, sites := s.evidence()
		if _, err := judge(c, sites); err == nil || !strings.Contains(err.Error(), "a raise is of the trees") {
			t.Errorf("%+v: %v", r, err)
		}
	}
}
