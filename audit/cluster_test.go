package audit

import (
	"fmt"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/audit/history"
	"github.com/flakeward/flakeward/generator"
)

// fakeCluster is a made-up cluster that keeps all promises. It takes one random step after the other
// and leaves the evidence that a real cluster does.
type fakeCluster struct {
	*shape
	now     evidence.Mono
	wall    int64         // of the machine at 0
	lead    time.Duration // how far IDs may be ahead of that; 0: anyhow
	pick    func(n int) int
	hosts   []*computer
	records map[int]*entryOf
	claims  map[int]*computer // live ones, by worker ID
	stored  []history.Version
	past    [][]history.Version
	drawn   int
	lost    uint64
	got     uint64
	linear  bool // the calls are judged
	made    generator.Tick
	raises  []Raise
	raised  bool // operators raise the floor
}

type entryOf struct {
	ceiling, issued generator.Tick
	holder          string
}

// computer is a host with its daemon.
type computer struct {
	w       *fakeCluster
	name    string
	steps   []Step
	offset  int64
	next    int64 // the offset that takes effect at due
	due     evidence.Mono
	starts  [][]evidence.Event
	calls   uint64
	replies []evidence.Reply
	free    [2]evidence.Mono // when each connection may be used again
	last    [2]key           // the last ID that each connection got
	number  uint32           // of the first connection of this start
	up      bool
	cur     grantOf
}

// grantOf is what a daemon has.
type grantOf struct {
	worker  int
	opening string
	floor   generator.Tick
	granted generator.Tick
	high    generator.Tick
	slots   map[generator.Tick]int64 // nil: no lane
	raises  int                      // how many there had been when the record was opened
}

const (
	mostSlept   = 200 // ticks that a daemon waits for its floor
	windowTicks = 5000
)

func newFakeCluster(layout *generator.Layout, hosts int, pick func(n int) int) *fakeCluster {
	s, err := shapeOf(layout)
	if err != nil {
		panic(err)
	}
	w := &fakeCluster{shape: s, pick: pick, now: 1e9, wall: layout.UnixNanos(10_000_000), records: map[int]*entryOf{}, claims: map[int]*computer{}}
	for i := range hosts {
		h := &computer{w: w, name: fmt.Sprintf("host-%d", i+1)}
		w.hosts = append(w.hosts, h)
	}
	return w
}

func (h *computer) tick() generator.Tick {
	if h.w.now >= h.due {
		h.offset = h.next
	}
	return h.w.layout.TickAt(h.w.wall + int64(h.w.now) + h.offset)
}

func (h *computer) log(e evidence.Event) {
	e.At = h.w.now
	h.starts[len(h.starts)-1] = append(h.starts[len(h.starts)-1], e)
}

func (w *fakeCluster) advance(d time.Duration) { w.now += evidence.Mono(d) }

func (w *fakeCluster) store(worker int) {
	r := w.records[worker]
	w.stored = append(w.stored, history.Version{Order: int64(10 * (len(w.stored) + 1)), Worker: worker, Ceiling: r.ceiling, Issued: r.issued, Holder: r.holder})
}

// raise raises the cluster's floor.
func (w *fakeCluster) raise(to generator.Tick) {
	if n := len(w.raises); n > 0 {
		to = max(to, w.raises[n-1].Floor)
	}
	w.raises = append(w.raises, Raise{Tree: len(w.past), Last: len(w.past), Order: int64(10 * len(w.stored)), At: w.now, Floor: to})
	w.advance(time.Microsecond)
}

// refused has a call on what was opened before a raise fail, which cuts the lane.
func (h *computer) refused(call uint64, g *grantOf) {
	h.w.advance(time.Millisecond)
	h.log(evidence.Event{Kind: evidence.Failed, Call: call, Worker: g.worker, Opening: g.opening, Ending: evidence.Denied})
	g.granted = min(g.granted, h.w.raises[len(h.w.raises)-1].Floor)
	delete(h.w.claims, g.worker)
}

// call logs that a call on the coordinator begins, and returns its number.
func (h *computer) call(e evidence.Event) uint64 {
	h.calls++
	e.Call = h.calls
	h.log(e)
	return e.Call
}

// step sets a clock. It takes effect within 4 ms.
func (h *computer) step(offset time.Duration) {
	h.tick()
	h.next = int64(offset)
	h.due = h.w.now + evidence.Mono(h.w.pick(4_000_001))
	h.steps = append(h.steps, Step{At: h.w.now, Offset: int64(offset)})
}

// start starts the daemon, which goes on from nothing. Where the coordinator cannot be reached it
// claims later.
func (h *computer) start(reachable bool) {
	if h.up {
		return
	}
	h.up = true
	h.starts = append(h.starts, nil)
	h.number += 2
	h.last = [2]key{}
	h.offset, h.due = h.next, 0 // the file is read at once
	h.log(evidence.Event{Kind: evidence.Began, Host: h.name, Incarnation: fmt.Sprintf("%s-%d", h.name, len(h.starts)), Layout: h.w.layout.String() + ";datacenter=0"})
	if h.cur.opening != "" && h.w.claims[h.cur.worker] == h {
		delete(h.w.claims, h.cur.worker) // the node of the one before, which it knows
	}
	h.cur = grantOf{}
	if reachable {
		h.claim()
	}
}

func (h *computer) lane(floor generator.Tick) {
	h.cur.floor, h.cur.high, h.cur.slots = floor, floor, map[generator.Tick]int64{}
}

// claim opens a record: the one that it had if nobody has it, another that suits the clock otherwise.
func (h *computer) claim() {
	worker := h.cur.worker
	if h.cur.opening == "" || h.w.claims[worker] != nil {
		h.reLease(false)
		return
	}
	h.open(worker)
	h.extend()
}

// open takes a record over.
func (h *computer) open(worker int) {
	r := h.w.records[worker]
	if r == nil {
		r = &entryOf{}
		h.w.records[worker] = r
	}
	call := h.call(evidence.Event{Kind: evidence.Claiming, Worker: worker})
	h.w.drawn++
	opening := fmt.Sprintf("opening%d", h.w.drawn)
	floor := r.ceiling
	if n := len(h.w.raises); n > 0 {
		floor = max(floor, h.w.raises[n-1].Floor)
	}
	r.holder, r.ceiling, r.issued = opening, floor, 0
	h.w.store(worker)
	h.w.claims[worker] = h
	h.w.advance(time.Millisecond)
	h.log(evidence.Event{Kind: evidence.Claimed, Call: call, Worker: worker, Opening: opening, Floor: floor})
	h.cur = grantOf{worker: worker, opening: opening, raises: len(h.w.raises)}
	h.lane(floor)
	if len(h.starts) > 1 && h.w.pick(20) == 0 {
		h.crash()
	}
}

// extend publishes, if the claim is held.
func (h *computer) extend() {
	r := h.w.records[h.cur.worker]
	if !h.up || h.cur.slots == nil || r == nil || r.holder != h.cur.opening || h.w.claims[h.cur.worker] != h {
		return
	}
	ceiling := h.tick() + windowTicks
	call := h.call(evidence.Event{Kind: evidence.Extending, Worker: h.cur.worker, Opening: h.cur.opening, Ceiling: ceiling, Issued: h.cur.high})
	if h.cur.raises != len(h.w.raises) {
		h.refused(call, &h.cur)
		return
	}
	r.ceiling = max(r.ceiling, ceiling)
	r.issued = max(r.issued, h.cur.high)
	h.w.store(h.cur.worker)
	if h.w.pick(8) == 0 {
		return // the reply is lost
	}
	h.w.advance(time.Millisecond)
	h.log(evidence.Event{Kind: evidence.Extended, Call: call, Worker: h.cur.worker, Opening: h.cur.opening, Ceiling: ceiling})
	h.cur.granted = max(h.cur.granted, ceiling)
}

// release gives back what is held.
func (h *computer) release(g grantOf, answered bool) {
	r := h.w.records[g.worker]
	if g.slots == nil || h.w.claims[g.worker] != h || r.holder != g.opening {
		return
	}
	call := h.call(evidence.Event{Kind: evidence.Releasing, Worker: g.worker, Opening: g.opening, Last: g.high})
	h.recordLate(g.worker)
	if !answered {
		return
	}
	if g.raises != len(h.w.raises) {
		h.refused(call, &g)
		return
	}
	r.ceiling, r.issued = g.high, g.high
	h.w.store(g.worker)
	delete(h.w.claims, g.worker)
	h.w.advance(time.Millisecond)
	h.log(evidence.Event{Kind: evidence.Released, Call: call, Worker: g.worker, Opening: g.opening, Last: g.high})
}

// recordLate has a slow thread record the last IDs only now.
func (h *computer) recordLate(worker int) {
	l := h.starts[len(h.starts)-1]
	if n := len(l); n > 1 && l[n-2].Kind == evidence.Issued && h.w.workerOf(h.w.keyOf(l[n-2].Run.First)) == worker && h.w.pick(2) == 0 {
		l[n-2], l[n-1] = l[n-1], l[n-2]
	}
}

// reLease takes another worker ID, and gives back the one that is held.
func (h *computer) reLease(fresh bool) {
	old := h.cur
	for worker := range h.w.workers {
		r := h.w.records[worker]
		if h.w.claims[worker] != nil || fresh && worker == old.worker || r != nil && r.ceiling >= h.tick() {
			continue
		}
		if worker != old.worker {
			h.cur = grantOf{}
		}
		h.open(worker)
		h.extend()
		if worker != old.worker && h.up {
			h.release(old, true)
		}
		return
	}
}

// take issues up to n IDs to a connection.
func (h *computer) take(connection, n int) []evidence.Run {
	c := &h.cur
	t := h.tick()
	if !h.up || c.slots == nil {
		return nil
	}
	if t <= c.floor && c.floor-t > mostSlept || c.high-t >= h.w.span {
		h.reLease(true)
		return nil
	}
	if t <= c.floor || t > c.granted {
		return nil
	}
	last := h.last[connection]
	if h.w.tickOf(last) == t && h.w.workerOf(last) != c.worker {
		return nil // it waits for the next tick
	}
	used := c.slots[t]
	took := min(int64(n), h.w.capacity-used)
	if took == 0 {
		return nil
	}
	c.slots[t] = used + took
	c.high = max(c.high, t)
	first, err := h.w.layout.Compose(generator.Parts{Tick: t, Worker: uint64(c.worker), Sequence: uint64(used)})
	if err != nil {
		panic(err)
	}
	run := evidence.Run{First: first, Step: h.w.layout.Step(), N: int(took)}
	h.log(evidence.Event{Kind: evidence.Issued, Run: run})
	h.last[connection] = h.w.keyOf(run.First)
	return []evidence.Run{run}
}

// ask asks for n IDs; arrives is false if the reply gets lost.
func (h *computer) ask(n int, arrives bool) {
	c := h.w.pick(2)
	h.w.now = max(h.w.now, h.free[c])
	r := evidence.Reply{Connection: h.number + uint32(c), Asking: evidence.Batch, Asked: h.w.now, Outcome: evidence.Got}
	h.w.advance(time.Duration(1 + h.w.pick(300_000)))
	r.IDs = h.take(c, n)
	for range 2 {
		if len(r.IDs) > 0 && r.IDs[len(r.IDs)-1].N < n {
			more := h.take(c, n)
			r.IDs = append(r.IDs, more...)
		}
	}
	switch {
	case !h.up:
		r.Outcome = evidence.Unsent
	case len(r.IDs) == 0:
		r.Outcome, r.Text = evidence.Refused, "UNAVAILABLE"
	case !arrives:
		for _, run := range r.IDs {
			h.w.lost += uint64(run.N)
		}
		r.Outcome, r.IDs = evidence.Lost, nil
	}
	for _, run := range r.IDs {
		h.w.got += uint64(run.N)
	}
	r.Answered = h.w.now + evidence.Mono(1+h.w.pick(300_000)) // others may ask meanwhile
	h.free[c] = r.Answered + 1
	h.replies = append(h.replies, r)
}

// crash ends the daemon at once; its claim stays until expire.
func (h *computer) crash() { h.up = false }

// expire ends a claim that nobody holds any more, or that the holder believes to hold.
func (w *fakeCluster) expire(worker int) { delete(w.claims, worker) }

// stop ends the daemon in order.
func (h *computer) stop(reachable bool) {
	if !h.up {
		return
	}
	h.up = false
	if h.cur.slots == nil {
		return
	}
	r := h.w.records[h.cur.worker]
	if reachable && h.w.claims[h.cur.worker] == h && r.holder == h.cur.opening {
		h.release(h.cur, h.w.pick(4) > 0)
		h.cur.granted, h.cur.slots = 0, nil
	}
}
