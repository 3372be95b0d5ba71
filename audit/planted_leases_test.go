package audit

import (
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/audit/history"
	"github.com/flakeward/flakeward/generator"
)

// lease is a worker ID that a host was given, beside what it had on the stage or after it.
type lease struct {
	s       *stage
	host    int
	worker  int
	opening string
	ceiling generator.Tick
}

// lend has a host take a worker ID over, with a grant of so many ticks from its floor, or from the
// newest tick if there was none.
func (s *stage) lend(host, worker int, ticks generator.Tick) *lease {
	_, floor := s.newest(host)
	now := &lease{s: s, host: host, worker: worker, opening: s.draw()}
	if r := s.records[worker]; r != nil {
		floor = r.Ceiling
	} else {
		s.records[worker] = &history.Version{}
	}
	s.records[worker].Holder = now.opening
	s.store(worker)
	now.describe(evidence.Event{Kind: evidence.Claimed, Floor: s.records[worker].Ceiling})
	now.ceiling = floor + ticks
	s.records[worker].Ceiling = now.ceiling
	s.store(worker)
	now.describe(evidence.Event{Kind: evidence.Extended, Ceiling: now.ceiling})
	return now
}

func (s *stage) draw() string {
	s.drawn++
	return strings.Repeat("o", s.drawn)
}

func (l *lease) describe(e evidence.Event) {
	e.At, e.Worker, e.Opening = l.s.now, l.worker, l.opening
	l.s.record(l.host, e)
}

// issue has the host record an ID of the worker ID.
func (l *lease) issue(tick generator.Tick, sequence uint64) {
	l.s.issue(l.host, l.s.of(l.worker, tick, sequence))
}

// begun has a host's daemon killed and started.
func (s *stage) begun(host int) {
	h := s.hosts[host]
	h.starts = append(h.starts, []evidence.Event{{At: s.now, Kind: evidence.Began, Incarnation: "begun " + s.draw(), Layout: s.layout.String()}})
}

func TestPlantedLeases(t *testing.T) {
	const most = 1000 // ticks of a grant
	testPlanted(t, []planted{
		{"two worker IDs, and both to the end of their grants", func(s *stage) {
			l := s.lend(0, 9, most)
			l.issue(l.ceiling, 0)
			s.issue(0, s.of(3, s.hosts[0].granted, 0))
		}, kinds{}},
		{"above its own ceiling, and below that of another worker ID", func(s *stage) {
			l, other := s.lend(0, 9, most), s.lend(0, 10, 2*most)
			other.issue(other.ceiling, 0)
			l.issue(l.ceiling+1, 0)
		}, kinds{AboveCeiling: 1, LeftBelow: 1}},
		{"given back, and issued above that beside another worker ID", func(s *stage) {
			l, other := s.lend(0, 9, most), s.lend(0, 10, most)
			l.describe(evidence.Event{Kind: evidence.Releasing, Last: l.ceiling - 1})
			other.issue(other.ceiling, 0)
			l.issue(l.ceiling, 0)
		}, kinds{AboveCeiling: 1}},

		{"claimed again, and in the grant of before, which issued nothing", func(s *stage) {
			l := s.lend(0, 9, most)
			s.lend(0, 9, most).issue(l.ceiling, 0)
		}, kinds{BelowFloor: 1}},
		{"two claims with one opening", func(s *stage) {
			l := s.lend(0, 9, most)
			l.issue(l.ceiling-1, 0)
			l.describe(evidence.Event{Kind: evidence.Claimed})
			l.describe(evidence.Event{Kind: evidence.Extended, Ceiling: l.ceiling})
			l.issue(l.ceiling-1, 1)
		}, kinds{Unacknowledged: 1, AboveCeiling: 1, Overlap: 1}},
		{"claimed again, and what the claim before is told counts", func(s *stage) {
			l := s.lend(0, 9, most)
			next := s.lend(0, 9, 1)
			s.records[9].Ceiling += most
			s.store(9)
			l.describe(evidence.Event{Kind: evidence.Extended, Ceiling: s.records[9].Ceiling})
			next.issue(next.ceiling+1, 0)
		}, kinds{Unacknowledged: 1, AboveCeiling: 1}},
		{"killed, and given its worker ID again", func(s *stage) {
			l := s.lend(0, 9, most)
			l.issue(l.ceiling, 0)
			s.begun(0)
			s.lend(0, 9, most).issue(l.ceiling+1, 0)
		}, kinds{}},
		{"killed, and given its worker ID again, and on from the grant before", func(s *stage) {
			l := s.lend(0, 9, most)
			l.issue(l.ceiling-1, 0)
			s.begun(0)
			s.lend(0, 9, most).issue(l.ceiling, 0)
		}, kinds{BelowFloor: 1}},

		{"a connection changes worker IDs and back within a tick", func(s *stage) {
			connection, tick := s.newest(0)
			s.lend(0, 9, most)
			s.give(0, connection, s.of(9, tick+1, 0))
			s.give(0, connection, s.of(3, tick+1, 0))
		}, kinds{Descent: 1}},
	})
}

// What is issued from a worker ID after its clock was set back catches up with what was issued
// before, also if the worker ID was lost meanwhile. What is issued from another does not.
func TestClockOfALostWorkerID(t *testing.T) {
	second := evidence.Mono(time.Second)
	for _, tt := range []struct {
		name  string
		from  evidence.Mono // when next begins to issue; 7 is lost after 12 s
		next  int           // a worker ID
		until evidence.Mono // when it is over; always: never
	}{
		{"the same one, above that", 15 * second, 7, 15 * second},
		{"the same one, which gets above that", 12 * second, 7, 13 * second},
		{"another one", 15 * second, 8, always},
		{"another one, which catches up itself", second, 8, always},
	} {
		c := newClock([]Step{{At: 10 * second, Offset: -int64(3 * time.Second)}})
		for at := second; at < 20*second; at += second / 1000 {
			tick := generator.Tick(at / (second / 1000))
			if at > 10*second {
				tick -= 3000
			}
			if at < 12*second {
				c.issued(at, 7, tick)
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
