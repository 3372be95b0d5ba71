package audit

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/e2e/evidence"
	"github.com/flakeward/flakeward/e2e/history"
	"github.com/flakeward/flakeward/generator"
)

type kinds = map[string]uint64

func TestPlanted(t *testing.T) {
	const unused = 3000 // a sequence number that nobody gave
	tests := []struct {
		name  string
		plant func(s *stage)
		want  kinds
	}{
		{"nothing", func(*stage) {}, kinds{}},

		{"an ID on two hosts", func(s *stage) {
			again := s.event(0, 1, evidence.Issued).Run
			again.N = 1
			s.issue(2, again)
		}, kinds{IssuedTwice: 1, AboveCeiling: 1, Overlap: 1}},
		{"an ID on two hosts, and received from both", func(s *stage) {
			again := s.event(0, 1, evidence.Issued).Run
			again.N = 1
			s.issue(2, again)
			s.receive(2, 99, again)
		}, kinds{IssuedTwice: 1, ReceivedTwice: 1, AboveCeiling: 1, Overlap: 1, Behind: 1}},
		{"IDs twice on one host", func(s *stage) {
			again := s.event(1, 1, evidence.Issued).Run
			again.First, again.N = again.First+3, 2
			s.issue(1, again)
		}, kinds{IssuedTwice: 2}},
		{"IDs twice, and nobody received them", func(s *stage) { s.record(1, s.lost) }, kinds{IssuedTwice: 10}},
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
		{"received, and recorded but for the middle", func(s *stage) {
			l := s.end(0)
			r := s.reply(0).IDs[0]
			i := slices.IndexFunc(l, func(e evidence.Event) bool { return e.Run == r })
			l[i].Run.N = 5
			tail := l[i]
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
			l := s.end(0)
			r := s.reply(0)
			i := slices.IndexFunc(l, func(e evidence.Event) bool { return e.Run == r.IDs[0] })
			l[i].At = r.Answered + 1
		}, kinds{Early: 20}},
		{"issued again after it was received", func(s *stage) {
			l := s.end(0)
			r := s.reply(0)
			i := slices.IndexFunc(l, func(e evidence.Event) bool { return e.Run == r.IDs[0] })
			again := l[i]
			again.At, again.Run.N = r.Answered+1, 2
			l[i].Run.First, l[i].Run.N = l[i].Run.First+1, l[i].Run.N-1
			s.record(0, again)
		}, kinds{IssuedTwice: 1, Early: 1}},
		{"no IDs", func(s *stage) {
			s.issue(0, evidence.Run{First: s.maxID - 1, Step: 1, N: 3})
			s.hosts[0].replies = append(s.hosts[0].replies, evidence.Reply{Asked: s.now, Answered: s.now, Outcome: evidence.Got, IDs: []evidence.Run{{First: -1, Step: 1, N: 1}}})
		}, kinds{NoID: 4}},

		{"above the ceiling", func(s *stage) { s.issue(0, s.of(3, s.hosts[0].cur.granted+1, 0)) }, kinds{AboveCeiling: 1, LeftBelow: 1}},
		{"at the ceiling", func(s *stage) { s.issue(0, s.of(3, s.hosts[0].cur.granted, 0)) }, kinds{}},
		{"an answer that was never stored", func(s *stage) {
			s.record(0, evidence.Event{At: s.now, Kind: evidence.Extended, Worker: 3, Opening: s.hosts[0].cur.opening, Ceiling: s.hosts[0].cur.granted + 1})
			s.issue(0, s.of(3, s.hosts[0].cur.granted+1, 0))
		}, kinds{Unacknowledged: 1, AboveCeiling: 1, LeftBelow: 1}},
		{"the last answer is not in the history", func(s *stage) {
			i := slices.IndexFunc(s.stored, func(v history.Version) bool { return v.Worker == 3 && v.Ceiling == s.hosts[0].cur.granted })
			s.stored = slices.Delete(s.stored, i, i+1)
		}, kinds{Unacknowledged: 1}},
		{"given back, and issued above the last tick", func(s *stage) {
			l := &s.hosts[0].lives[0]
			*l = append(*l, evidence.Event{At: s.now, Kind: evidence.Issued, Run: s.of(0, s.released()+1, 0)})
		}, kinds{AboveCeiling: 1, LeftBelow: 1}},
		{"given back, and recorded late", func(s *stage) {
			l := &s.hosts[0].lives[0]
			*l = append(*l, evidence.Event{At: s.now, Kind: evidence.Issued, Run: s.of(0, s.released(), unused)})
		}, kinds{}},
		{"extended after it was given back", func(s *stage) {
			l := &s.hosts[0].lives[0]
			r := s.event(0, 0, evidence.Releasing)
			*l = append(*l, evidence.Event{At: s.now, Kind: evidence.Extended, Worker: 0, Opening: r.Opening, Ceiling: r.Last + 5},
				evidence.Event{At: s.now, Kind: evidence.Issued, Run: s.of(0, r.Last+1, 0)})
		}, kinds{AboveCeiling: 1, LeftBelow: 1}},
		{"a record lowered too far", func(s *stage) {
			i := slices.IndexFunc(s.stored, func(v history.Version) bool { return v.Worker == 0 && v.Ceiling == s.released() })
			s.stored[i].Ceiling--
		}, kinds{LeftBelow: 1}},
		{"an opening that is not in the history", func(s *stage) {
			s.record(0, evidence.Event{At: s.now, Kind: evidence.Claimed, Worker: 9, Opening: "x"})
		}, kinds{UnknownClaim: 1}},
		{"an opening of another worker ID", func(s *stage) {
			s.record(0, evidence.Event{At: s.now, Kind: evidence.Claimed, Worker: 9, Opening: s.event(2, 0, evidence.Claimed).Opening})
		}, kinds{UnknownClaim: 1}},
		{"another's opening continued", func(s *stage) { s.event(1, 1, evidence.Claimed).Continues = true }, kinds{Continued: 1}},
		{"a write that was not fenced", func(s *stage) {
			v := s.stored[slices.IndexFunc(s.stored, func(v history.Version) bool { return v.Worker == 0 })]
			v.Order = 1 << 40
			s.stored = append(s.stored, v)
		}, kinds{Unfenced: 1}},
		{"a start from the journal, above its grant", func(s *stage) {
			h := s.hosts[2]
			granted := h.cur.granted
			h.crash()
			h.lives = append(h.lives, []evidence.Event{
				{At: s.now, Kind: evidence.Began, Incarnation: "x", Layout: s.layout.String()},
				{At: s.now, Kind: evidence.Issued, Run: s.of(2, granted, 0)},
				{At: s.now, Kind: evidence.Issued, Run: s.of(2, granted+1, 0)},
			})
		}, kinds{AboveCeiling: 1, LeftBelow: 1}},

		{"continued, and issued above what was lowered meanwhile", func(s *stage) {
			first, claim := s.event(2, 0, evidence.Claimed), s.event(2, 1, evidence.Claimed)
			l := s.hosts[2].lives[0]
			high := s.tickOf(s.keyOf(l[len(l)-1].Run.First))
			i := slices.IndexFunc(s.stored, func(v history.Version) bool { return v.Holder == claim.Opening })
			s.stored[i].Ceiling = high
			lowered := s.stored[i]
			lowered.Order, lowered.Holder = lowered.Order-1, first.Opening
			s.stored = append(s.stored, lowered)
			claim.Floor = high
			at := evidence.Event{At: claim.At, Kind: evidence.Issued, Run: s.of(2, high+1, unused)}
			i = slices.IndexFunc(s.hosts[2].lives[1], func(e evidence.Event) bool { return e.Kind == evidence.Claimed })
			s.hosts[2].lives[1] = slices.Insert(s.hosts[2].lives[1], i+1, at)
		}, kinds{AboveCeiling: 1}},
		{"a record lowered by the opening after", func(s *stage) {
			v := s.stored[slices.IndexFunc(s.stored, func(v history.Version) bool { return v.Holder == s.hosts[2].cur.opening })]
			v.Order, v.Ceiling = 1<<40, 5
			s.stored = append(s.stored, v)
		}, kinds{LeftBelow: 2}},
		{"three holders in one stretch of ticks", func(s *stage) {
			tick := s.tickOf(s.keyOf(s.event(1, 1, evidence.Issued).Run.First))
			s.issue(2, s.of(0, tick+1, unused))
			s.issue(0, s.of(0, tick+100, unused))
		}, kinds{Overlap: 2, AboveCeiling: 2, LeftBelow: 1}},
		{"recorded late, within another's ticks", func(s *stage) {
			s.again(slow - 1)
			tick := s.tickOf(s.keyOf(s.end(1)[len(s.end(1))-1].Run.First))
			s.issue(2, s.of(0, tick-1, unused+1))
			s.issue(2, s.of(0, tick, unused+1))
		}, kinds{Overlap: 1, AboveCeiling: 2}},
		{"two holders in one stretch of ticks", func(s *stage) {
			tick := s.tickOf(s.keyOf(s.event(1, 1, evidence.Issued).Run.First)) + 1
			l := &s.hosts[0].lives[0]
			*l = slices.Insert(*l, slices.IndexFunc(*l, func(e evidence.Event) bool { return e.Kind == evidence.Releasing }),
				evidence.Event{At: s.now, Kind: evidence.Issued, Run: s.of(0, tick, unused)})
		}, kinds{Overlap: 1, LeftBelow: 1}},
		{"two lives in one stretch of ticks", func(s *stage) {
			first := s.tickOf(s.keyOf(s.event(2, 0, evidence.Issued).Run.First))
			s.issue(2, s.of(2, first, unused))
		}, kinds{Overlap: 1}},
		{"a successor at its floor", func(s *stage) { s.issue(1, s.of(0, s.released(), unused)) }, kinds{BelowFloor: 1, Overlap: 1}},
		{"a floor below the ceiling", func(s *stage) { s.event(1, 1, evidence.Claimed).Floor-- }, kinds{LowFloor: 1}},
		{"a floor below the ceiling, and issued from", func(s *stage) {
			s.event(1, 1, evidence.Claimed).Floor -= 3
			s.issue(1, s.of(0, s.released(), unused))
		}, kinds{LowFloor: 1, BelowFloor: 1, Overlap: 1}},
		{"claimed again, and the slots of before", func(s *stage) { s.again(slow) }, kinds{BelowFloor: 1, AboveCeiling: 1, Overlap: 1}},
		{"claimed again, and recorded late", func(s *stage) { s.again(slow - 1) }, kinds{}},

		{"down on a connection", func(s *stage) {
			connection, _ := s.newest(1)
			r := s.lost.Run
			r.N = 4
			s.receive(1, connection, r)
		}, kinds{Descent: 1}},
		{"the last ID again on a connection", func(s *stage) {
			connection, _ := s.newest(1)
			all := s.hosts[1].replies
			r := all[len(all)-1].IDs[0]
			s.receive(1, connection, evidence.Run{First: r.First + int64(r.N-1), Step: 1, N: 1})
		}, kinds{ReceivedTwice: 1, Descent: 1}},
		{"down on a connection, after another connection", func(s *stage) {
			connection, tick := s.newest(1)
			s.issue(1, s.of(0, tick+1, unused))
			s.receive(1, 99, s.of(0, tick+1, unused))
			s.receive(1, connection, s.lost.Run)
		}, kinds{Descent: 1}},
		{"down on a connection, and up from there", func(s *stage) {
			s.down(0, 1000)
			connection, tick := s.newest(1)
			s.issue(1, s.of(0, tick+1, unused))
			s.receive(1, connection, s.of(0, tick+1, unused))
		}, kinds{Descent: 1, Behind: 2}},
		{"down by more than the ring's span, in two", func(s *stage) {
			s.back(1, 500*time.Millisecond)
			connection, tick := s.newest(1)
			for _, by := range []generator.Tick{1000, s.span + 1} {
				s.issue(1, s.of(0, tick-by, unused))
				s.receive(1, connection, s.of(0, tick-by, unused))
			}
		}, kinds{Descent: 1}},
		{"on another connection", func(s *stage) { s.receive(1, 99, s.lost.Run) }, kinds{}},
		{"down within a tick, although the clock was stepped", func(s *stage) {
			s.back(1, 500*time.Millisecond)
			connection, tick := s.newest(1)
			for _, sequence := range []uint64{unused + 1, unused, unused + 2} {
				s.issue(1, s.of(0, tick+1, sequence))
				s.receive(1, connection, s.of(0, tick+1, sequence))
			}
		}, kinds{Descent: 1}},
		{"down by the ring's span, without a step", func(s *stage) { s.down(0, s.span) }, kinds{Descent: 1, Behind: 1}},
		{"down by the ring's span, after a step", func(s *stage) {
			s.back(1, 500*time.Millisecond)
			s.down(0, s.span)
		}, kinds{}},
		{"down by more than the ring's span", func(s *stage) {
			s.back(1, 500*time.Millisecond)
			s.down(0, s.span+1)
		}, kinds{Descent: 1}},
		{"down by a second after the clock was made up for", func(s *stage) {
			s.hosts[1].steps = []Step{{s.hosts[1].lives[1][0].At, -int64(time.Millisecond)}}
			s.down(0, 1000)
		}, kinds{Descent: 1, Behind: 1}},
		{"another worker ID, as far back as the clock", func(s *stage) {
			s.back(0, time.Second)
			s.other(1000 + 1 + s.span)
		}, kinds{}},
		{"another worker ID, further back than the clock", func(s *stage) {
			s.back(0, time.Second)
			s.other(1000 + 1 + s.span + 1)
		}, kinds{Descent: 1, Behind: 1}},
		{"another worker ID within a tick", func(s *stage) { s.other(0) }, kinds{}},
		{"another worker ID, back by a tick", func(s *stage) { s.other(1) }, kinds{Descent: 1}},

		{"behind another host", func(s *stage) { s.down(99, 1000) }, kinds{Behind: 1}},
		{"behind another host in a part of a reply", func(s *stage) {
			_, tick := s.newest(1)
			s.issue(1, s.of(0, tick+1, unused))
			s.issue(1, s.of(0, tick-1000, unused))
			s.receive(1, 99, s.of(0, tick+1, unused))
			r := &s.hosts[1].replies[len(s.hosts[1].replies)-1]
			r.IDs = append(r.IDs, s.of(0, tick-1000, unused))
		}, kinds{Behind: 1, Descent: 1}},
		{"behind another host, which gave an ID between the two later", func(s *stage) { s.crossing(50, 20) }, kinds{Behind: 1}},
		{"behind another host, which gave the same tick later", func(s *stage) { s.crossing(50, 50) }, kinds{Behind: 1}},
		{"not behind another host, which answered later", func(s *stage) { s.crossing(1, 50) }, kinds{}},
		{"behind another host, whose clock is ahead", func(s *stage) {
			s.hosts[0].steps = []Step{{s.now - evidence.Mono(3*time.Second), int64(998 * time.Millisecond)}}
			s.hosts[2].steps = s.hosts[0].steps
			s.down(99, 1000)
		}, kinds{Behind: 1}},
		{"behind another host by no more than its clock is ahead", func(s *stage) {
			s.hosts[0].steps = []Step{{s.now - evidence.Mono(3*time.Second), int64(time.Second)}}
			s.hosts[2].steps = s.hosts[0].steps
			s.down(99, 1000)
		}, kinds{}},
		{"behind another host, set back", func(s *stage) {
			s.back(1, 500*time.Millisecond)
			s.down(99, 500+1+s.span)
		}, kinds{}},
		{"behind another host, set back by less", func(s *stage) {
			s.back(1, 500*time.Millisecond)
			s.down(99, 500+1+s.span+1)
		}, kinds{Behind: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t)
			tt.plant(s)
			c, sites := s.evidence()
			v, err := judge(c, sites, partMemory)
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
				if total != f.Count || (f.Count > 0) != (len(f.Examples) > 0) || len(f.Examples) > maxExamples || !f.Judged {
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
	IssuedTwice: Unique, ReceivedTwice: Unique, Unrecorded: Unique, Early: Unique, NoID: Unique,
	AboveCeiling: Granted, Unacknowledged: Granted, UnknownClaim: Granted, Continued: Granted, Unfenced: Granted, LeftBelow: Granted,
	Overlap: Disjoint, BelowFloor: Disjoint, LowFloor: Disjoint,
	Descent: Rising,
	Behind:  Skewed,
}
