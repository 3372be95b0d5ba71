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
