package audit

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/audit/history"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// stage is a sound run in which each test plants one thing. Its hosts:
//
//   - host-1 has worker ID 0, gives it back, and in its second start has worker ID 3;
//   - host-2 has worker ID 1, loses its disk, and in its second start has worker ID 0 for 6 s;
//   - host-3 has worker ID 2, loses its claim, and makes it again.
type stage struct {
	*shape
	t       *testing.T
	now     evidence.Mono
	wall    int64         // what a right clock shows at 0
	lead    time.Duration // how far IDs may be ahead of that; 0: anyhow
	hosts   []*machine
	records map[int]*history.Version
	stored  []history.Version
	past    [][]history.Version
	drawn   int // openings
	linear  bool
	made    generator.Tick
	raises  []Raise
	lost    evidence.Event // of the last reply that got lost, of host-2
}

// machine is a host with its daemon.
type machine struct {
	s       *stage
	name    string
	steps   []Step
	starts  [][]evidence.Event
	calls   uint64
	replies []evidence.Reply
	free    evidence.Mono // when its connection may be used again

	worker  int
	opening string
	granted generator.Tick
	high    generator.Tick // the last tick, and how many IDs it gave
	used    uint64
}

func layoutOf(t interface{ Fatal(...any) }, text string) *generator.Layout {
	l, err := generator.ParseLayout(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func newStage(t *testing.T) *stage { return newStageOf(t, "flakeward") }

func newStageOf(t *testing.T, layout string) *stage {
	l := layoutOf(t, layout)
	s := &stage{shape: must.Get(shapeOf(l))(t), t: t, now: 1e9, wall: l.UnixNanos(10_000_000), records: map[int]*history.Version{}}
	asks := func(n int, every time.Duration) {
		for range n {
			for _, h := range s.hosts {
				h.ask(20, true)
			}
			s.now += evidence.Mono(every)
		}
	}
	for i := range 3 {
		h := &machine{s: s, name: fmt.Sprintf("host-%d", i+1)}
		s.hosts = append(s.hosts, h)
		h.start(i)
	}
	asks(5, time.Millisecond)
	s.hosts[0].stop()
	s.now += evidence.Mono(max(10*time.Millisecond, 2*s.shape.tick)) // beyond what was given back
	s.hosts[1].start(0)
	s.hosts[0].start(3)
	s.hosts[2].extend()
	for range 60 {
		asks(2, 50*time.Millisecond)
		for _, h := range s.hosts {
			h.extend()
		}
	}
	s.hosts[1].ask(10, false)
	s.lost = s.end(1)[len(s.end(1))-1]
	asks(1, 0)
	return s
}

// tick is what a right clock shows.
func (s *stage) tick() generator.Tick { return s.layout.TickAt(s.wall + int64(s.now)) }

// store has the coordinator store a worker ID's record.
func (s *stage) store(worker int) {
	v := *s.records[worker]
	v.Order, v.Worker = int64(10*(len(s.stored)+1)), worker
	s.stored = append(s.stored, v)
}

// raise raises the cluster's floor.
func (s *stage) raise(to generator.Tick) {
	s.raises = append(s.raises, Raise{Tree: len(s.past), Last: len(s.past), Order: int64(10 * len(s.stored)), At: s.now, Floor: to})
	s.now += 1000
}

func (h *machine) log(e evidence.Event) {
	e.At = h.s.now
	h.starts[len(h.starts)-1] = append(h.starts[len(h.starts)-1], e)
}

// call logs a call on the coordinator, as it begins and a millisecond later, when it has ended.
func (h *machine) call(began, ended evidence.Event) {
	h.calls++
	began.Call, ended.Call = h.calls, h.calls
	h.log(began)
	h.s.now += evidence.Mono(time.Millisecond)
	h.log(ended)
}

// start starts the daemon, which takes the worker ID over.
func (h *machine) start(worker int) {
	s := h.s
	h.starts = append(h.starts, nil)
	h.log(evidence.Event{Kind: evidence.Began, Host: h.name, Incarnation: fmt.Sprintf("%s-%d", h.name, len(h.starts)), Layout: s.layout.String() + ";datacenter=0"})
	if s.records[worker] == nil {
		s.records[worker] = &history.Version{}
	}
	s.drawn++
	r := s.records[worker]
	r.Holder, r.Issued = fmt.Sprint("opening", s.drawn), 0
	s.store(worker)
	h.worker, h.opening, h.high, h.used = worker, r.Holder, r.Ceiling, 0
	h.call(evidence.Event{Kind: evidence.Claiming, Worker: worker}, evidence.Event{Kind: evidence.Claimed, Worker: worker, Opening: r.Holder, Floor: r.Ceiling})
	h.extend()
}

// extend publishes, and has more granted.
func (h *machine) extend() {
	r := h.s.records[h.worker]
	h.granted = h.s.tick() + 5000
	r.Ceiling, r.Issued = h.granted, h.high
	h.s.store(h.worker)
	e := evidence.Event{Kind: evidence.Extending, Worker: h.worker, Opening: h.opening, Ceiling: h.granted, Issued: h.high}
	h.call(e, evidence.Event{Kind: evidence.Extended, Worker: h.worker, Opening: h.opening, Ceiling: h.granted})
}

// stop ends the daemon in order.
func (h *machine) stop() {
	r := h.s.records[h.worker]
	r.Ceiling, r.Issued = h.high, h.high
	h.s.store(h.worker)
	e := evidence.Event{Kind: evidence.Releasing, Worker: h.worker, Opening: h.opening, Last: h.high}
	ended := e
	ended.Kind = evidence.Released
	h.call(e, ended)
}

// ask asks for n IDs; arrives is false if the reply gets lost.
func (h *machine) ask(n int, arrives bool) {
	const way = evidence.Mono(300 * time.Microsecond)
	s := h.s
	s.now = max(s.now, h.free)
	r := evidence.Reply{Connection: uint32(len(h.starts)), Asking: evidence.Batch, Asked: s.now, Outcome: evidence.Lost}
	s.now += way
	if t := s.tick(); t > h.high {
		h.high, h.used = t, 0
	}
	run := s.of(h.worker, h.high, h.used)
	run.Step, run.N = s.layout.Step(), n
	h.used += uint64(n)
	h.log(evidence.Event{Kind: evidence.Issued, Run: run})
	if arrives {
		r.Outcome, r.IDs = evidence.Got, []evidence.Run{run}
	}
	r.Answered = s.now + way // others may ask meanwhile
	h.free = r.Answered + 1
	h.replies = append(h.replies, r)
}

// anyLead is more than any test's IDs are ahead of the true time.
const anyLead = 100 * 365 * 24 * time.Hour

// evidence returns the cluster's evidence. It can be changed, and read any number of times.
func (s *stage) evidence() (Cluster, []site) {
	c := Cluster{Layout: s.layout, History: slices.Clone(s.stored), Floor: s.made, Raises: s.raises, Past: s.past, Lead: cmp.Or(s.lead, anyLead), Wall: s.wall, Linear: s.linear}
	var sites []site
	for _, h := range s.hosts {
		of := site{name: h.name, steps: h.steps}
		for i := range h.starts {
			of.daemons = append(of.daemons, log[evidence.Event]{fmt.Sprintf("%s/daemon/%d", h.name, i), streamOf(&h.starts[i])})
		}
		of.clients = []log[evidence.Reply]{{h.name + "/client", streamOf(&h.replies)}}
		sites = append(sites, of)
	}
	return c, sites
}

func streamOf[T any](all *[]T) stream[T] {
	return func(yield func(T) error) error {
		for _, v := range *all {
			if err := yield(v); err != nil {
				return err
			}
		}
		return nil
	}
}

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
	s.issue(1, s.of(0, tick-by, 3000))
	s.receive(1, connection, s.of(0, tick-by, 3000))
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
