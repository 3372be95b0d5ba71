package audit

import (
	"fmt"
	"slices"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/audit/history"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// end is the log of a host's last start.
func (s *stage) end(host int) []evidence.Event {
	h := s.hosts[host]
	return h.starts[len(h.starts)-1]
}

// record adds to the log of a host's last start.
func (s *stage) record(host int, e evidence.Event) {
	h := s.hosts[host]
	h.starts[len(h.starts)-1] = append(h.starts[len(h.starts)-1], e)
}

// of is a run of one ID.
func (s *stage) of(worker int, tick generator.Tick, sequence uint64) evidence.Run {
	id := must.Get(s.layout.Compose(generator.Parts{Tick: tick, Worker: uint64(worker), Sequence: sequence}))(s.t)
	return evidence.Run{First: id, Step: 1, N: 1}
}

// issue records IDs that are asked for afterwards.
func (s *stage) issue(host int, r evidence.Run) {
	s.record(host, evidence.Event{At: s.now, Kind: evidence.Issued, Run: r})
}

// receive has a client get IDs now.
func (s *stage) receive(host int, connection uint32, r evidence.Run) {
	s.now = max(s.now, s.hosts[host].free) + 1
	for i := range s.end(host) {
		if e := &s.end(host)[i]; e.Run == r {
			e.At = s.now // it is made when it is asked for
		}
	}
	s.hosts[host].replies = append(s.hosts[host].replies, evidence.Reply{
		Connection: connection, Asking: evidence.InRuns, Outcome: evidence.Got, Asked: s.now, Answered: s.now + 1, IDs: []evidence.Run{r},
	})
	s.now++
}

// give has a client get an ID that is made for it.
func (s *stage) give(host int, connection uint32, r evidence.Run) {
	s.issue(host, r)
	s.receive(host, connection, r)
}

// extend has a daemon told that its ceiling is by ticks above what its first was; stored says
// whether that is true.
func (s *stage) extend(host, worker int, by generator.Tick, stored bool) {
	ceiling := s.hosts[host].granted + by
	if stored {
		s.records[worker].Ceiling = max(s.records[worker].Ceiling, ceiling)
		s.store(worker)
	}
	s.record(host, evidence.Event{At: s.now, Kind: evidence.Extended, Worker: worker, Opening: s.records[worker].Holder, Ceiling: ceiling})
}

// newest is the connection and the tick of the last reply with IDs that a host's client got.
func (s *stage) newest(host int) (uint32, generator.Tick) {
	all := s.hosts[host].replies
	for i := len(all) - 1; ; i-- {
		if n := len(all[i].IDs); n > 0 {
			return all[i].Connection, s.tickOf(s.keyOf(all[i].IDs[n-1].First))
		}
	}
}

// event is the first of a kind, in one start of a host.
func (s *stage) event(host, start int, kind evidence.Kind) *evidence.Event {
	l := s.hosts[host].starts[start]
	return &l[slices.IndexFunc(l, func(e evidence.Event) bool { return e.Kind == kind })]
}

// recorded is the event of IDs in the log of a host's last start.
func (s *stage) recorded(host int, r evidence.Run) *evidence.Event {
	l := s.end(host)
	return &l[slices.IndexFunc(l, func(e evidence.Event) bool { return e.Run == r })]
}

// version is the first one that was stored for which is says so.
func (s *stage) version(is func(history.Version) bool) *history.Version {
	return &s.stored[slices.IndexFunc(s.stored, is)]
}

// givenBack is the version with which worker ID 0 was given back.
func (s *stage) givenBack() *history.Version {
	return s.version(func(v history.Version) bool { return v.Worker == 0 && v.Ceiling == s.released() })
}

// restore puts the tree back to what it was when a version was stored, and has the version's holder
// store one above it.
func (s *stage) restore(last *history.Version) {
	v := *last
	s.past = append(s.past, s.stored)
	s.stored = slices.DeleteFunc(slices.Clone(s.stored), func(other history.Version) bool { return other.Order > v.Order })
	v.Order, v.Ceiling = 1<<40, v.Ceiling+1
	s.stored = append(s.stored, v)
}

// reply is one that a client got IDs with, of a host's last start.
func (s *stage) reply(host int) *evidence.Reply {
	all := s.hosts[host].replies
	return &all[len(all)-2]
}

// released is worker ID 0's last tick in the hands of host-1.
func (s *stage) released() generator.Tick { return s.event(0, 0, evidence.Releasing).Last }

// again has host-2 claim worker ID 0 anew in one start, and record an ID of the lane before when
// some time has passed.
func (s *stage) again(after evidence.Mono) {
	_, tick := s.newest(1)
	claim := evidence.Event{At: s.now, Kind: evidence.Claimed, Worker: 0, Opening: "again", Floor: s.records[0].Ceiling}
	s.records[0].Holder = claim.Opening
	s.store(0)
	s.record(1, claim)
	s.record(1, evidence.Event{At: s.now, Kind: evidence.Extending, Worker: 0, Opening: claim.Opening, Ceiling: claim.Floor})
	s.record(1, evidence.Event{At: s.now + after, Kind: evidence.Issued, Run: s.of(0, tick, 3000)})
}

// receivedLate has a client receive what again recorded; it asked so long after the claim.
func (s *stage) receivedLate(after evidence.Mono) {
	s.hosts[1].replies = append(s.hosts[1].replies, evidence.Reply{
		Connection: 99, Asking: evidence.Single, Outcome: evidence.Got, Asked: s.now + after, Answered: s.now + 2, IDs: []evidence.Run{s.end(1)[len(s.end(1))-1].Run},
	})
}

// killed has host-3 killed, another host open its worker ID for a moment, and host-3 claim it anew
// and be replaced by another process. It returns the ceiling of the grant before.
func (s *stage) killed() generator.Tick {
	h := s.hosts[2]
	s.records[2].Holder = "guest"
	s.store(2)
	began := func() {
		h.starts = append(h.starts, []evidence.Event{{At: s.now, Kind: evidence.Began, Incarnation: fmt.Sprint("start ", len(h.starts)), Layout: s.layout.String()}})
	}
	began()
	s.records[2].Holder = "claim 0"
	s.store(2)
	s.record(2, evidence.Event{At: s.now, Kind: evidence.Claimed, Worker: 2, Opening: s.records[2].Holder, Floor: s.records[2].Ceiling})
	s.now++
	began()
	return h.granted
}

// hold has a host hold another worker ID as well.
func (s *stage) hold(host, worker int, ceiling generator.Tick) {
	opening := fmt.Sprint("held ", worker)
	s.records[worker] = &history.Version{Holder: opening}
	s.store(worker)
	s.records[worker].Ceiling = ceiling
	s.store(worker)
	s.record(host, evidence.Event{At: s.now, Kind: evidence.Claimed, Worker: worker, Opening: opening})
	s.record(host, evidence.Event{At: s.now, Kind: evidence.Extended, Worker: worker, Opening: opening, Ceiling: ceiling})
}

// hourBack has host-1's clock stepped back by an hour. It holds worker IDs 9 and 10 then, and gives
// IDs of 9 for 30 s.
func (s *stage) hourBack() {
	connection, tick := s.newest(0)
	s.hosts[0].steps = []Step{{At: s.now, Offset: -int64(time.Hour)}}
	low := tick - 3_600_000
	s.hold(0, 9, low+100_000)
	s.hold(0, 10, low+100_000)
	for i := range 6000 {
		s.now += evidence.Mono(5 * time.Millisecond)
		s.give(0, connection, s.of(9, low+generator.Tick(5*i), 0))
	}
}

// back has a clock stepped back shortly before now.
func (s *stage) back(host int, by time.Duration) {
	s.hosts[host].steps = append(s.hosts[host].steps, Step{At: s.now - 1, Offset: -int64(by)})
}

// down has a client of host-2 receive an ID that is that many ticks below the newest that any host
// gave; connection 0 is the one that the newest came over.
func (s *stage) down(connection uint32, by generator.Tick) {
	newest, tick := s.newest(1)
	for host := range s.hosts {
		_, other := s.newest(host)
		if connection == 99 {
			tick = max(tick, other)
		}
	}
	if connection == 0 {
		connection = newest
	}
	s.give(1, connection, s.of(0, tick-by, 3000))
}

// other has host-1 hold worker ID 9 as well, and give an ID of it that is that many ticks below its
// newest.
func (s *stage) other(by generator.Tick) {
	connection, tick := s.newest(0)
	s.hold(0, 9, tick+1)
	s.give(0, connection, s.of(9, tick-by, 0))
}

// crossing has host-2 give an ID of the newest tick, after host-1 gave one that is first ticks
// above it, and before it gave another that is later ticks above it. The log has the later one
// before the other.
func (s *stage) crossing(first, later generator.Tick) {
	_, tick := s.newest(1)
	_, other := s.newest(0)
	tick = max(tick, other)
	at := s.now + 1000
	give := func(host int, connection uint32, r evidence.Run, at evidence.Mono) {
		s.record(host, evidence.Event{At: at, Kind: evidence.Issued, Run: r})
		s.hosts[host].replies = append(s.hosts[host].replies, evidence.Reply{
			Connection: connection, Asking: evidence.Single, Outcome: evidence.Got, Asked: at, Answered: at, IDs: []evidence.Run{r},
		})
	}
	give(0, 97, s.of(3, tick+later, 3001), at+20)
	give(0, 98, s.of(3, tick+first, 3002), at+5)
	give(1, 99, s.of(0, tick, 3003), at+10)
}
