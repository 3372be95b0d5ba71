package audit

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/generator"
)

// assigned is a lane that has been given a worker ID.
type assigned struct {
	s        *stage
	host, at int // at: its number
	worker   int
	opening  string
	ceiling  generator.Tick
}

// assign has a lane of a host take a worker ID over, with a grant of so many ticks from its floor, or
// from the newest tick if there was none. It continues the opening of another, if there is one.
func (s *stage) assign(host, lane, worker int, ticks generator.Tick, of *assigned) *assigned {
	_, floor := s.newest(host)
	now := &assigned{s: s, host: host, at: lane, worker: worker, opening: s.draw()}
	if r := s.records[worker]; r != nil {
		floor = r.ceiling
	} else {
		s.records[worker] = &entryOf{}
	}
	s.records[worker].holder = now.opening
	s.store(worker)
	now.describe(evidence.Event{Kind: evidence.Claimed, Continues: of != nil, Floor: s.records[worker].ceiling})
	now.ceiling = floor + ticks
	s.records[worker].ceiling = now.ceiling
	s.store(worker)
	now.describe(evidence.Event{Kind: evidence.Extended, Ceiling: now.ceiling})
	return now
}

func (s *stage) draw() string {
	s.drawn++
	return strings.Repeat("o", s.drawn)
}

func (l *assigned) describe(e evidence.Event) {
	e.At, e.Lane, e.Worker, e.Opening = l.s.now, l.at, l.worker, l.opening
	l.s.record(l.host, e)
}

// issue has the lane record an ID.
func (l *assigned) issue(worker int, tick generator.Tick, sequence uint64) {
	l.s.record(l.host, evidence.Event{At: l.s.now, Kind: evidence.Issued, Lane: l.at, Run: l.s.of(worker, tick, sequence)})
}

// begun has a host's daemon killed and started.
func (s *stage) begun(host int) {
	h := s.hosts[host]
	h.crash()
	h.starts = append(h.starts, []evidence.Event{{At: s.now, Kind: evidence.Began, Incarnation: "begun " + s.draw(), Layout: s.layout.String()}})
}

func TestPlantedLanes(t *testing.T) {
	const most = 1000 // ticks of a grant
	testPlanted(t, []planted{
		{"two lanes, each with a worker ID", func(s *stage) {
			l := s.assign(0, 1, 9, most, nil)
			l.issue(9, l.ceiling, 0)
			s.issue(0, s.of(3, s.hosts[0].cur.granted, 0))
		}, kinds{}},
		{"the same ID from two lanes of one daemon", func(s *stage) {
			l := s.assign(0, 1, 9, most, nil)
			again := s.event(0, 1, evidence.Issued).Run
			again.N = 1
			s.record(0, evidence.Event{At: s.now, Kind: evidence.Issued, Lane: l.at, Run: again})
		}, kinds{IssuedTwice: 1, AboveCeiling: 1, Overlap: 1}},
		{"from the worker ID of another lane", func(s *stage) {
			l := s.assign(0, 1, 9, most, nil)
			l.issue(3, s.hosts[0].cur.granted, 0)
		}, kinds{AboveCeiling: 1}},
		{"from the worker ID of another lane, among its ticks", func(s *stage) {
			l := s.assign(0, 1, 9, most, nil)
			_, tick := s.newest(0)
			l.issue(3, tick-1, unused)
		}, kinds{AboveCeiling: 1, Overlap: 1}},
		{"above its own ceiling, and below that of another lane", func(s *stage) {
			l, other := s.assign(0, 1, 9, most, nil), s.assign(0, 2, 10, 2*most, nil)
			other.issue(10, other.ceiling, 0)
			l.issue(9, l.ceiling+1, 0)
		}, kinds{AboveCeiling: 1, LeftBelow: 1}},

		{"one lane after the other, and the first to the end of its grant", func(s *stage) {
			l := s.assign(0, 1, 9, most, nil)
			next := s.assign(0, 2, 9, most, nil)
			next.issue(9, l.ceiling+1, 0)
			l.issue(9, l.ceiling, 0)
			s.now += slow
			l.issue(9, l.ceiling-1, 0)
		}, kinds{}},
		{"one lane after the other, and the first into the grant of the second", func(s *stage) {
			l := s.assign(0, 1, 9, most, nil)
			next := s.assign(0, 2, 9, most, nil)
			next.issue(9, l.ceiling+2, 0)
			l.issue(9, l.ceiling+1, 0)
		}, kinds{AboveCeiling: 1, LeftBelow: 1}},
		{"one lane after the other, and the second in the grant of the first", func(s *stage) {
			l := s.assign(0, 1, 9, most, nil)
			next := s.assign(0, 2, 9, most, nil)
			next.issue(9, l.ceiling, 0)
		}, kinds{BelowFloor: 1}},
		{"one lane after the other, and both in one range of ticks", func(s *stage) {
			l := s.assign(0, 1, 9, most, nil)
			next := s.assign(0, 2, 9, most, nil)
			next.issue(9, l.ceiling+1, 0)
			next.issue(9, l.ceiling+3, 0)
			l.issue(9, l.ceiling+2, 0)
		}, kinds{AboveCeiling: 1, LeftBelow: 1, Overlap: 1}},
		{"two lanes with one opening", func(s *stage) {
			l := s.assign(0, 1, 9, most, nil)
			both := *l
			both.at = 2
			both.describe(evidence.Event{Kind: evidence.Claimed})
			both.describe(evidence.Event{Kind: evidence.Extended, Ceiling: l.ceiling})
			l.issue(9, l.ceiling-1, 0)
			both.issue(9, l.ceiling-1, 1)
		}, kinds{Unacknowledged: 1, AboveCeiling: 1, Overlap: 1}},
		{"one lane after the other, and what the first is told counts for both", func(s *stage) {
			l := s.assign(0, 1, 9, most, nil)
			next := s.assign(0, 2, 9, 1, nil)
			s.records[9].ceiling += most
			s.store(9)
			l.describe(evidence.Event{Kind: evidence.Extended, Ceiling: s.records[9].ceiling})
			next.issue(9, next.ceiling+1, 0)
		}, kinds{Unacknowledged: 1, AboveCeiling: 1}},
		{"continued what another lane had", func(s *stage) {
			l := s.assign(0, 1, 9, most, nil)
			s.assign(0, 2, 9, most, l)
		}, kinds{Continued: 1}},
		{"continued what it had", func(s *stage) {
			l := s.assign(0, 1, 9, most, nil)
			l.issue(9, l.ceiling-1, 0)
			again := s.assign(0, 1, 9, most, l)
			again.issue(9, l.ceiling, 0)
			again.issue(9, again.ceiling, 0)
		}, kinds{}},
		{"of the lane before, and recorded by another lane", func(s *stage) {
			l := s.assign(0, 1, 9, most, nil)
			l.issue(9, l.ceiling, 0)
			s.assign(0, 1, 9, most, nil).issue(9, l.ceiling+1, 0)
			other := s.assign(0, 2, 10, most, nil)
			other.issue(9, l.ceiling, 1)
		}, kinds{AboveCeiling: 1, Overlap: 1}},
		{"given back by a lane, and issued above that by another", func(s *stage) {
			l, other := s.assign(0, 1, 9, most, nil), s.assign(0, 2, 10, most, nil)
			l.describe(evidence.Event{Kind: evidence.Releasing, Last: l.ceiling - 1})
			other.issue(10, other.ceiling, 0)
			l.issue(9, l.ceiling, 0)
		}, kinds{AboveCeiling: 1}},

		{"killed, and each lane from its own journal", func(s *stage) {
			granted := s.hosts[0].cur.granted
			l := s.assign(0, 1, 9, most, nil)
			s.begun(0)
			l.issue(9, l.ceiling, 0)
			s.issue(0, s.of(3, granted, 0))
		}, kinds{}},
		{"killed, and a lane from the journal of another", func(s *stage) {
			l := s.assign(0, 1, 9, most, nil)
			s.begun(0)
			s.issue(0, s.of(9, l.ceiling, 0))
		}, kinds{AboveCeiling: 1}},
		{"killed, and the other lane is given its worker ID", func(s *stage) {
			l := s.assign(0, 1, 9, most, nil)
			l.issue(9, l.ceiling, 0)
			s.begun(0)
			s.assign(0, 0, 9, most, nil).issue(9, l.ceiling+1, 0)
		}, kinds{}},
		{"killed, and the other lane goes on with its worker ID", func(s *stage) {
			l := s.assign(0, 1, 9, most, nil)
			l.issue(9, l.ceiling-1, 0)
			s.begun(0)
			s.assign(0, 0, 9, most, nil).issue(9, l.ceiling, 0)
		}, kinds{BelowFloor: 1}},

		{"a connection changes lanes, in the next tick", func(s *stage) {
			connection, tick := s.newest(0)
			l := s.assign(0, 1, 9, most, nil)
			l.issue(9, tick+1, 0)
			s.receive(0, connection, s.of(9, tick+1, 0))
		}, kinds{}},
		{"a connection changes lanes within a tick", func(s *stage) {
			connection, tick := s.newest(0)
			l := s.assign(0, 1, 9, most, nil)
			l.issue(9, tick, 0)
			s.receive(0, connection, s.of(9, tick, 0))
		}, kinds{Descent: 1}},
		{"a connection changes lanes and back within a tick", func(s *stage) {
			connection, tick := s.newest(0)
			l := s.assign(0, 1, 9, most, nil)
			l.issue(9, tick+1, 0)
			s.receive(0, connection, s.of(9, tick+1, 0))
			s.issue(0, s.of(3, tick+1, 0))
			s.receive(0, connection, s.of(3, tick+1, 0))
		}, kinds{Descent: 1}},
		{"two connections, each with a lane, within a tick", func(s *stage) {
			_, tick := s.newest(0)
			l := s.assign(0, 1, 9, most, nil)
			l.issue(9, tick, 0)
			s.receive(0, 99, s.of(9, tick, 0))
		}, kinds{}},
	})
}

// What is found against a lane names it.
func TestLanesAreNamed(t *testing.T) {
	s := newStage(t)
	l := s.assign(0, 2, 9, 10, nil)
	l.issue(9, l.ceiling+1, 0)
	c, sites := s.evidence()
	v, err := judge(c, sites, partMemory)
	if err != nil || !strings.Contains(strings.Join(v.Examples(), "\n"), "start 2 of host-1, lane 2") {
		t.Errorf("%q, %v", v.Examples(), err)
	}
}

// Of two lanes that had one worker ID, the one that had it last has to make up for what it issued
// before its clock was set back: what the other makes up for counts for nothing.
func TestClockOfTwoLanes(t *testing.T) {
	second := evidence.Mono(time.Second)
	for _, caughtUp := range [][]int{{0}, {1}, {0, 1}} {
		c := newClock([]Step{{At: 10 * second, Offset: -int64(3 * time.Second)}})
		for at := second; at < 20*second; at += second / 1000 {
			tick := generator.Tick(at / (second / 1000))
			if at > 10*second {
				tick -= 3000
			}
			for lane := range 2 {
				if at < 12*second || slices.Contains(caughtUp, lane) {
					c.issued(at, assignment{lane, 7}, tick+generator.Tick(20000*lane))
				}
			}
		}
		if got := c.between(7, 19*second, 19*second); got.behind == slices.Contains(caughtUp, 1) {
			t.Errorf("lanes %v have caught up, and it says %+v", caughtUp, got)
		}
	}
}

// A lane that loses its worker ID after its clock was set back never makes up for it. It is behind
// no more when another of the host has passed it, and what it took has been recorded.
func TestClockOfALostWorkerID(t *testing.T) {
	second := evidence.Mono(time.Second)
	for _, tt := range []struct {
		name  string
		from  evidence.Mono // when a lane is given a worker ID
		next  assignment
		until evidence.Mono // when it is over; always: never
	}{
		{"another lane, above that", 15 * second, assignment{1, 7}, 16 * second},
		{"another lane, which gets above that", 12 * second, assignment{1, 7}, 14 * second},
		{"another lane, with another worker ID", 15 * second, assignment{1, 8}, always},
		{"the same lane, with another worker ID", 15 * second, assignment{0, 8}, always},
		{"the same lane", 15 * second, assignment{0, 7}, 15 * second},
	} {
		c := newClock([]Step{{At: 10 * second, Offset: -int64(3 * time.Second)}})
		for at := second; at < 20*second; at += second / 1000 {
			tick := generator.Tick(at / (second / 1000))
			if at > 10*second {
				tick -= 3000
			}
			if at < 12*second {
				c.issued(at, assignment{0, 7}, tick)
			}
			if at >= tt.from {
				c.issued(at, tt.next, tick)
			}
		}
		for at := 12 * second; at < 20*second; at += second / 10 {
			about := second / 100
			if at > tt.until-about && at < tt.until+about {
				continue
			}
			if got := c.between(7, at, at); got.behind != (at < tt.until) {
				t.Errorf("%s: at %v it says %+v, want until %v", tt.name, time.Duration(at), got, time.Duration(tt.until))
				break
			}
		}
	}
}
