package audit

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/audit/history"
	"github.com/flakeward/flakeward/coord"
)

type kinds = map[string]uint64

// unused is a sequence number that nobody gave.
const unused = 3000

// planted is what is done to a sound run, and what must be found then.
type planted struct {
	name  string
	plant func(s *stage)
	want  kinds
}

func TestPlanted(t *testing.T) {
	testPlanted(t, []planted{
		{"nothing", func(*stage) {}, kinds{}},

		{"an ID on two hosts", func(s *stage) {
			again := s.event(0, 1, evidence.Issued).Run
			again.N = 1
			s.issue(2, again)
		}, kinds{IssuedTwice: 1, AboveCeiling: 1, Overlap: 1}},
		{"an ID on two hosts, and received from both", func(s *stage) {
			again := s.event(0, 1, evidence.Issued).Run
			again.N = 1
			s.give(2, 99, again)
		}, kinds{IssuedTwice: 1, ReceivedTwice: 1, AboveCeiling: 1, Overlap: 1, Behind: 1}},
		{"IDs twice on one host", func(s *stage) {
			again := s.event(1, 1, evidence.Issued).Run
			again.First, again.N = again.First+3, 2
			s.issue(1, again)
		}, kinds{IssuedTwice: 2}},
		{"IDs twice, and nobody received them", func(s *stage) { s.record(1, s.lost) }, kinds{IssuedTwice: 10}},
		{"IDs twice, and received the second time", func(s *stage) {
			again := s.lost.Run
			again.N = 9
			s.give(1, 99, again)
		}, kinds{IssuedTwice: 9}},
		{"IDs received twice", func(s *stage) {
			again := *s.reply(0)
			again.Connection = 99
			s.hosts[0].replies = append(s.hosts[0].replies, again)
		}, kinds{ReceivedTwice: 20}},
		{"received, and not recorded", func(s *stage) {
			r := *s.reply(0)
			r.Connection, r.IDs = 99, []evidence.Run{{First: r.IDs[0].First + unused, Step: 1, N: 7}}
			s.hosts[0].replies = append(s.hosts[0].replies, r)
		}, kinds{Unrecorded: 7}},
		{"received, and recorded except for the middle", func(s *stage) {
			e := s.recorded(0, s.reply(0).IDs[0])
			e.Run.N = 5
			tail := *e
			tail.Run.First, tail.Run.N = tail.Run.First+8, 12
			s.record(0, tail)
		}, kinds{Unrecorded: 3}},
		{"received from one host, and recorded by another", func(s *stage) {
			r := *s.reply(0)
			r.Connection = 99
			r.IDs = []evidence.Run{s.lost.Run}
			s.hosts[0].replies = append(s.hosts[0].replies, r)
		}, kinds{Unrecorded: 10}},
		{"received before it was made", func(s *stage) {
			r := s.reply(0)
			s.recorded(0, r.IDs[0]).At = r.Answered + 1
		}, kinds{Early: 20}},
		{"recorded before it was asked for", func(s *stage) {
			s.receive(1, 99, s.lost.Run)
			s.hosts[1].replies[len(s.hosts[1].replies)-1].Asked++
		}, kinds{Stale: 10}},
		{"issued again after it was received", func(s *stage) {
			r := s.reply(0)
			e := s.recorded(0, r.IDs[0])
			again := *e
			again.At, again.Run.N = r.Answered+1, 2
			e.Run.First, e.Run.N = e.Run.First+1, e.Run.N-1
			s.record(0, again)
		}, kinds{IssuedTwice: 1, Early: 1}},
		{"no IDs", func(s *stage) {
			s.issue(0, evidence.Run{First: s.maxID - 1, Step: 1, N: 3})
			s.hosts[0].replies = append(s.hosts[0].replies, evidence.Reply{Asked: s.now, Answered: s.now, Outcome: evidence.Got, IDs: []evidence.Run{{First: -1, Step: 1, N: 1}}})
		}, kinds{NoID: 4}},

		{"above the ceiling", func(s *stage) { s.issue(0, s.of(3, s.hosts[0].granted+1, 0)) }, kinds{AboveCeiling: 1, LeftBelow: 1}},
		{"at the ceiling", func(s *stage) { s.issue(0, s.of(3, s.hosts[0].granted, 0)) }, kinds{}},
		{"an answer that was never stored", func(s *stage) {
			s.record(0, evidence.Event{At: s.now, Kind: evidence.Extended, Worker: 3, Opening: s.hosts[0].opening, Ceiling: s.hosts[0].granted + 1})
			s.issue(0, s.of(3, s.hosts[0].granted+1, 0))
		}, kinds{Unacknowledged: 1, AboveCeiling: 1, LeftBelow: 1}},
		{"the last answer is not in the history", func(s *stage) {
			i := slices.IndexFunc(s.stored, func(v history.Version) bool { return v.Worker == 3 && v.Ceiling == s.hosts[0].granted })
			s.stored = slices.Delete(s.stored, i, i+1)
		}, kinds{Unacknowledged: 1}},
		{"given back, and issued above the last tick", func(s *stage) {
			l := &s.hosts[0].starts[0]
			*l = append(*l, evidence.Event{At: s.now, Kind: evidence.Issued, Run: s.of(0, s.released()+1, 0)})
		}, kinds{AboveCeiling: 1, LeftBelow: 1}},
		{"given back, and recorded late", func(s *stage) {
			l := &s.hosts[0].starts[0]
			*l = append(*l, evidence.Event{At: s.now, Kind: evidence.Issued, Run: s.of(0, s.released(), unused)})
		}, kinds{}},
		{"extended after it was given back", func(s *stage) {
			l := &s.hosts[0].starts[0]
			r, v := s.event(0, 0, evidence.Releasing), *s.givenBack()
			v.Order, v.Ceiling = v.Order+1, r.Last+5
			s.stored = append(s.stored, v)
			claim := s.event(1, 1, evidence.Claimed)
			claim.Floor = v.Ceiling
			s.version(func(v history.Version) bool { return v.Holder == claim.Opening }).Ceiling = v.Ceiling
			*l = append(*l, evidence.Event{At: s.now, Kind: evidence.Extended, Worker: 0, Opening: r.Opening, Ceiling: v.Ceiling},
				evidence.Event{At: s.now, Kind: evidence.Issued, Run: s.of(0, r.Last+1, 0)})
		}, kinds{AboveCeiling: 1}},
		{"an answer that was not stored, and a later one that was", func(s *stage) {
			s.extend(0, 3, 5000, false)
			s.issue(0, s.of(3, s.hosts[0].granted+4000, 0))
			s.extend(0, 3, 10000, true)
			s.issue(0, s.of(3, s.hosts[0].granted+9000, 0))
		}, kinds{Unacknowledged: 1, AboveCeiling: 1}},
		{"an answer twice, and stored once", func(s *stage) {
			s.extend(0, 3, 5000, true)
			s.extend(0, 3, 5000, false)
		}, kinds{Unacknowledged: 1}},
		{"two answers, in the other order than they were stored", func(s *stage) {
			s.extend(0, 3, 10000, true)
			s.extend(0, 3, 5000, true)
			l := s.end(0)
			n := len(l)
			l[n-2].Ceiling, l[n-1].Ceiling = l[n-1].Ceiling, l[n-2].Ceiling
		}, kinds{Unacknowledged: 1}},
		{"an answer that got lost, and one that was below what was there", func(s *stage) {
			s.records[3].Ceiling += 20000
			s.store(3)
			s.extend(0, 3, 5000, true)
			s.issue(0, s.of(3, s.hosts[0].granted+5000, 0))
			s.issue(0, s.of(3, s.hosts[0].granted+5001, 0))
		}, kinds{AboveCeiling: 1}},
		{"a record lowered too far", func(s *stage) { s.givenBack().Ceiling-- }, kinds{LeftBelow: 1, Lowered: 1}},
		{"an opening that is not in the history", func(s *stage) {
			s.record(0, evidence.Event{At: s.now, Kind: evidence.Claimed, Worker: 9, Opening: "x"})
		}, kinds{UnknownClaim: 1}},
		{"an opening of another worker ID", func(s *stage) {
			s.record(0, evidence.Event{At: s.now, Kind: evidence.Claimed, Worker: 9, Opening: s.event(2, 0, evidence.Claimed).Opening})
		}, kinds{UnknownClaim: 1}},
		{"a write that was not fenced", func(s *stage) {
			v := *s.version(func(v history.Version) bool { return v.Worker == 0 })
			v.Order = 1 << 40
			s.stored = append(s.stored, v)
		}, kinds{Unfenced: 1}},
		{"a start that goes on from what the one before had", func(s *stage) {
			granted := s.hosts[2].granted
			s.begun(2)
			s.issue(2, s.of(2, granted, 0))
		}, kinds{AboveCeiling: 1}},

		{"a record lowered when all is over", func(s *stage) {
			v := *s.version(func(v history.Version) bool { return v.Holder == s.hosts[2].opening })
			v.Order, v.Ceiling = 1<<40, 5
			s.stored = append(s.stored, v)
		}, kinds{LeftBelow: 1, Lowered: 1}},
		{"three holders in one range of ticks", func(s *stage) {
			tick := s.tickOf(s.keyOf(s.event(1, 1, evidence.Issued).Run.First))
			s.issue(2, s.of(0, tick+1, unused))
			s.issue(0, s.of(0, tick+100, unused))
		}, kinds{Overlap: 2, AboveCeiling: 2}},
		{"recorded late, within another's ticks", func(s *stage) {
			s.again(slow - 1)
			tick := s.tickOf(s.keyOf(s.end(1)[len(s.end(1))-1].Run.First))
			s.issue(2, s.of(0, tick-1, unused+1))
			s.issue(2, s.of(0, tick, unused+1))
		}, kinds{Overlap: 1, AboveCeiling: 2}},
		{"two holders in one range of ticks", func(s *stage) {
			tick := s.tickOf(s.keyOf(s.event(1, 1, evidence.Issued).Run.First)) + 1
			l := &s.hosts[0].starts[0]
			*l = slices.Insert(*l, slices.IndexFunc(*l, func(e evidence.Event) bool { return e.Kind == evidence.Releasing }),
				evidence.Event{At: s.now, Kind: evidence.Issued, Run: s.of(0, tick, unused)})
		}, kinds{Overlap: 1, LeftBelow: 1}},
		{"two starts in one range of ticks", func(s *stage) {
			first := s.tickOf(s.keyOf(s.event(2, 0, evidence.Issued).Run.First))
			s.begun(2)
			s.issue(2, s.of(2, first, unused))
		}, kinds{Overlap: 1, AboveCeiling: 1}},
		{"a successor at its floor", func(s *stage) { s.issue(1, s.of(0, s.released(), unused)) }, kinds{BelowFloor: 1, Overlap: 1}},
		{"a floor below the ceiling", func(s *stage) { s.event(1, 1, evidence.Claimed).Floor-- }, kinds{LowFloor: 1}},
		{"a floor below the ceiling, and issued from", func(s *stage) {
			s.event(1, 1, evidence.Claimed).Floor -= 3
			s.issue(1, s.of(0, s.released(), unused))
		}, kinds{LowFloor: 1, BelowFloor: 1, Overlap: 1}},
		{"claimed again, and the slots of before", func(s *stage) { s.again(slow) }, kinds{BelowFloor: 1, AboveCeiling: 1, Overlap: 1}},
		{"claimed again, and recorded late", func(s *stage) { s.again(slow - 1) }, kinds{}},
		{"claimed again, recorded late, and asked for before that", func(s *stage) {
			s.again(1)
			s.receivedLate(0)
		}, kinds{}},
		{"claimed again, recorded at once, and asked for after that", func(s *stage) {
			s.again(1)
			s.receivedLate(1)
		}, kinds{BelowFloor: 1}},

		{"claimed anew, killed, and issued from the grant before", func(s *stage) { s.issue(2, s.of(2, s.killed(), 0)) }, kinds{AboveCeiling: 1}},
		{"claimed anew, extended, killed, and issued from that", func(s *stage) {
			ceiling := s.killed() + 10
			s.records[2].Ceiling = ceiling
			s.store(2)
			l := &s.hosts[2].starts[1]
			*l = append(*l, evidence.Event{At: s.now, Kind: evidence.Extended, Worker: 2, Opening: s.records[2].Holder, Ceiling: ceiling})
			s.issue(2, s.of(2, ceiling, 0))
		}, kinds{AboveCeiling: 1}},

		{"put back from a copy", func(s *stage) {
			s.past = append(s.past, s.stored)
			s.stored = slices.Clone(s.stored[:len(s.stored)/2])
		}, kinds{}},
		{"put back from a copy, and its holder went on from there", func(s *stage) {
			s.restore(s.version(func(v history.Version) bool { return v.Holder == s.records[2].Holder }))
		}, kinds{}},
		{"put back from a copy, and one who had been replaced went on", func(s *stage) { s.restore(s.givenBack()) }, kinds{Unfenced: 1}},
	})
}

// TestPlantedCalls: what a daemon's calls on the coordinator answered cannot be, though all IDs are
// sound.
func TestPlantedCalls(t *testing.T) {
	calls := func(plant func(s *stage)) func(s *stage) {
		return func(s *stage) {
			s.linear = true
			plant(s)
		}
	}
	// last is host-3's last extension, as it began and ended.
	last := func(s *stage) (began, ended *evidence.Event) {
		l := s.end(2)
		for i := range l {
			if l[i].Kind == evidence.Extending && i+1 < len(l) && l[i+1].Kind == evidence.Extended {
				began, ended = &l[i], &l[i+1]
			}
		}
		return began, ended
	}
	testPlanted(t, []planted{
		{"nothing", calls(func(*stage) {}), kinds{}},
		{"an issued tick that was acknowledged is not stored", calls(func(s *stage) {
			began, _ := last(s)
			began.Issued = s.records[2].Issued + 1
		}), kinds{Unexplained: 1}},
		{"an extension that was lost, and a later one that was not", calls(func(s *stage) {
			_, ended := last(s)
			*ended = evidence.Event{At: ended.At, Kind: evidence.Failed, Call: ended.Call, Worker: 2, Opening: ended.Opening, Ending: evidence.Denied}
			s.record(2, evidence.Event{At: s.now, Kind: evidence.Extending, Call: 900, Worker: 2, Opening: ended.Opening})
			s.record(2, evidence.Event{At: s.now, Kind: evidence.Extended, Call: 900, Worker: 2, Opening: ended.Opening})
			s.store(2)
		}), kinds{Unexplained: 1}},
		{"an extension of unclear outcome, and a later one that was not", calls(func(s *stage) {
			_, ended := last(s)
			*ended = evidence.Event{At: ended.At, Kind: evidence.Failed, Call: ended.Call, Worker: 2, Opening: ended.Opening}
		}), kinds{}},
		{"the cluster begins later than openings do", calls(func(s *stage) { s.made = 5 }), kinds{Unexplained: 4, LowFloor: 4}},
		{"the cluster begins where openings do", calls(func(s *stage) {
			s.made = 5
			for _, h := range s.hosts {
				for _, l := range h.starts {
					for i := range l {
						if l[i].Kind == evidence.Claimed && l[i].Floor == 0 {
							l[i].Floor = s.made
						}
					}
				}
			}
		}), kinds{}},
		{"all marks were raised meanwhile, so that nothing is known", calls(func(s *stage) {
			began, _ := last(s)
			began.Issued = s.records[2].Issued + 1
			s.records[2].Holder = coord.OpeningID("raised", "1")
			s.store(2)
		}), kinds{}},
	})
}

func testPlanted(t *testing.T, tests []planted) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t)
			tt.plant(s)
			c, sites := s.evidence()
			v, err := judge(c, sites)
			if err != nil {
				t.Fatal(err)
			}
			got, sum := kinds{}, uint64(0)
			for i, f := range v.Findings {
				total := uint64(0)
				for kind, n := range f.Kinds {
					got[kind] = n
					total += n
					if under[kind] != i {
						t.Errorf("%q was held against invariant %q", kind, f.Invariant)
					}
				}
				if total != f.Count || (f.Count > 0) != (len(f.Examples) > 0) || len(f.Examples) > maxExamples || f.Judged != (i != Linear || c.linearizable()) {
					t.Errorf("%d of %v with examples %q", f.Count, f.Kinds, f.Examples)
				}
				sum += f.Count
			}
			if !maps.Equal(got, tt.want) {
				t.Errorf("found %v, want %v: %q", got, tt.want, v.Examples())
			}
			if v.Violations() != sum {
				t.Errorf("%d violations, want %d", v.Violations(), sum)
			}
			for _, e := range v.Examples() {
				t.Log(e)
				if !strings.Contains(e, "host-") && !strings.Contains(e, "coordinator") {
					t.Errorf("the example %q names nobody", e)
				}
			}
		})
	}
}

var under = map[string]int{
	IssuedTwice: Unique, ReceivedTwice: Unique, Unrecorded: Unique, Early: Unique, Stale: Unique, NoID: Unique,
	AboveCeiling: Granted, Unacknowledged: Granted, UnknownClaim: Granted, Unfenced: Granted, LeftBelow: Granted, Lowered: Granted, Uncut: Granted,
	Overlap: Disjoint, BelowFloor: Disjoint, LowFloor: Disjoint,
	Descent: Rising,
	Behind:  Skewed,
	Ahead:   Timely, Unexplained: Linear,
}
