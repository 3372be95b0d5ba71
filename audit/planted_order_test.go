package audit

import (
	"testing"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/generator"
)

func TestPlantedDisorder(t *testing.T) {
	testPlanted(t, []planted{
		{"down on a connection", func(s *stage) {
			connection, _ := s.newest(1)
			r := s.lost.Run
			r.N = 4
			s.receive(1, connection, r)
		}, kinds{Descent: 1, Stale: 4}},
		{"the last ID again on a connection", func(s *stage) {
			connection, _ := s.newest(1)
			all := s.hosts[1].replies
			r := all[len(all)-1].IDs[0]
			s.receive(1, connection, evidence.Run{First: r.First + int64(r.N-1), Step: 1, N: 1})
		}, kinds{ReceivedTwice: 1, Stale: 1, Descent: 1}},
		{"down on a connection, after another connection", func(s *stage) {
			connection, tick := s.newest(1)
			s.give(1, 99, s.of(0, tick+1, unused))
			s.receive(1, connection, s.lost.Run)
		}, kinds{Descent: 1}},
		{"down on a connection, and up from there", func(s *stage) {
			s.down(0, 1000)
			connection, tick := s.newest(1)
			s.give(1, connection, s.of(0, tick+1, unused))
		}, kinds{Descent: 1, Behind: 2}},
		{"down by more than the ring's span, in two", func(s *stage) {
			s.back(1, 500*time.Millisecond)
			connection, tick := s.newest(1)
			for _, by := range []generator.Tick{1000, 500 + 1 + s.span + 1} {
				s.give(1, connection, s.of(0, tick-by, unused))
			}
		}, kinds{Descent: 1, Behind: 1}},
		{"on another connection", func(s *stage) { s.receive(1, 99, s.lost.Run) }, kinds{}},
		{"down within a tick, although the clock was stepped", func(s *stage) {
			s.back(1, 500*time.Millisecond)
			connection, tick := s.newest(1)
			for _, sequence := range []uint64{unused + 1, unused, unused + 2} {
				s.give(1, connection, s.of(0, tick+1, sequence))
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
			s.hosts[1].steps = []Step{{At: s.hosts[1].starts[1][0].At, Offset: -int64(time.Millisecond)}}
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
		{"within the ring, until the clock is made up for, and once more", func(s *stage) {
			connection, tick := s.newest(0)
			s.back(0, 1500*time.Millisecond)
			for i := range 320 { // 1.6 s: the step settles after 1 s
				s.now += evidence.Mono(5 * time.Millisecond)
				s.give(0, connection, s.of(3, tick-1500+generator.Tick(5*i), unused))
			}
			s.give(0, connection, s.of(3, tick-1500, unused+1))
		}, kinds{Descent: 1}},
		{"an hour back, and then down within the new worker ID", func(s *stage) {
			s.hourBack()
			connection, tick := s.newest(0)
			s.give(0, connection, s.of(9, tick-1500, unused))
		}, kinds{Descent: 1}},
		{"an hour back, and then back with a third worker ID", func(s *stage) {
			s.hourBack()
			connection, tick := s.newest(0)
			s.give(0, connection, s.of(10, tick-20000, 0))
		}, kinds{Descent: 1}},
		{"an hour back, and then on with a third worker ID", func(s *stage) {
			s.hourBack()
			connection, tick := s.newest(0)
			s.give(0, connection, s.of(10, tick+1, 0))
		}, kinds{}},
		{"another worker ID in the next tick", func(s *stage) { s.other(-1) }, kinds{}},
		{"another worker ID within a tick", func(s *stage) { s.other(0) }, kinds{Descent: 1}},
		{"another worker ID within a tick, on another connection", func(s *stage) {
			_, tick := s.newest(0)
			s.hold(0, 9, tick)
			s.give(0, 99, s.of(9, tick, 0))
		}, kinds{}},
		{"another worker ID within a tick that the clock was stepped in", func(s *stage) {
			s.back(0, time.Millisecond)
			s.other(0)
		}, kinds{}},
		{"another worker ID, back by a tick", func(s *stage) { s.other(1) }, kinds{Descent: 1}},

		{"behind another host", func(s *stage) { s.down(99, 1000) }, kinds{Behind: 1}},
		{"behind another host in a part of a reply", func(s *stage) {
			_, tick := s.newest(1)
			s.issue(1, s.of(0, tick+1, unused))
			s.issue(1, s.of(0, tick-1000, unused))
			s.receive(1, 99, s.of(0, tick+1, unused))
			r := &s.hosts[1].replies[len(s.hosts[1].replies)-1]
			r.IDs = append(r.IDs, s.of(0, tick-1000, unused))
			for i := range s.end(1) {
				if e := &s.end(1)[i]; e.Run == r.IDs[1] {
					e.At = r.Asked
				}
			}
		}, kinds{Behind: 1, Descent: 1}},
		{"behind another host, which gave an ID between the two later", func(s *stage) { s.crossing(50, 20) }, kinds{Behind: 1}},
		{"behind another host, which gave the same tick later", func(s *stage) { s.crossing(50, 50) }, kinds{Behind: 1}},
		{"not behind another host, which answered later", func(s *stage) { s.crossing(1, 50) }, kinds{}},
		{"behind another host, whose clock is ahead", func(s *stage) {
			s.hosts[0].steps = []Step{{At: s.now - evidence.Mono(3*time.Second), Offset: int64(998 * time.Millisecond)}}
			s.hosts[2].steps = s.hosts[0].steps
			s.down(99, 1000)
		}, kinds{Behind: 1}},
		{"behind another host by no more than its clock is ahead", func(s *stage) {
			s.hosts[0].steps = []Step{{At: s.now - evidence.Mono(3*time.Second), Offset: int64(time.Second)}}
			s.hosts[2].steps = s.hosts[0].steps
			s.down(99, 1000)
		}, kinds{}},
		{"behind another host, set back", func(s *stage) {
			s.back(1, 500*time.Millisecond)
			s.down(99, 500+1+s.span)
		}, kinds{}},
		{"behind another host whose clock was put right", func(s *stage) {
			_, tick := s.newest(0)
			s.hosts[0].steps = []Step{{At: s.now - evidence.Mono(4*time.Second), Offset: int64(time.Hour)}, {At: s.now}}
			s.hold(0, 9, tick+3_700_000)
			s.issue(0, s.of(9, tick+3_600_000, 0))
			s.hold(0, 10, tick+3_700_000)
			for i := range 6000 { // 30 s
				s.now += evidence.Mono(5 * time.Millisecond)
				s.issue(0, s.of(10, tick+1+generator.Tick(5*i), 0))
			}
			s.give(0, 97, s.of(10, tick+1_800_000, 0))
			s.give(1, 98, s.of(0, tick+1, unused))
		}, kinds{Behind: 1}},
		{"as far ahead of the true time as may be", func(s *stage) {
			s.lead = time.Second
			s.issue(0, s.of(3, s.tick()+1000, unused))
		}, kinds{}},
		{"ahead of the true time", func(s *stage) {
			s.lead = time.Second
			s.issue(0, s.of(3, s.tick()+1001, unused))
		}, kinds{Ahead: 1}},
		{"behind another host, set back by less", func(s *stage) {
			s.back(1, 500*time.Millisecond)
			s.down(99, 500+1+s.span+1)
		}, kinds{Behind: 1}},
	})
}
