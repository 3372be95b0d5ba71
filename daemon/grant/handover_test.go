package grant_test

import (
	"errors"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// handOver ends the process as one ends that another takes over from.
func (p *process) handOver() grant.Handed {
	handed := grant.HandOver(p.Holder)
	p.crash() // it writes and sends no more
	return handed
}

// takenOver is the process that goes on with what was handed over.
func (h *host) takenOver(from grant.Handed) (*process, error) {
	p := h.reboot()
	return p, grant.TakeOver(p.Holder, from)
}

// What was written and not flushed may be gone after a power cut: nothing is handed over then, and
// who takes over begins above the mark that it reads, once it could write one of its own.
func TestAMarkThatWasNotFlushedIsNotHandedOver(t *testing.T) {
	w := newFixture(t)
	h := w.host("J")
	before := h.start()
	flushed := before.lane.Ceiling()
	before.disk.unsure = true
	w.clock.Advance(step)
	if err := before.Renew(); err == nil {
		t.Fatal("the disk does not fail; the test is void")
	}
	handed := before.handOver()
	after, err := h.takenOver(handed)
	if handed.Worker != coord.AnyWorker || !errors.Is(err, grant.ErrNothingHanded) {
		t.Errorf("%+v is handed over, and taken over with %v", handed, err)
	}
	if read := after.Holding().Mark; read <= flushed {
		t.Errorf("the journal is read with mark %d, which was flushed; the test is void", read)
	}
}

// Who takes over issues at once, with no wait for the mark that the journal has ahead and without a
// write, and goes on with the same lane once it has claimed the worker ID.
func TestATakenOverLaneGoesOnAboveTheLastTick(t *testing.T) {
	w := newFixture(t)
	h := w.host("J")
	before := h.start()
	run, out := before.lane.Take(0, before.tick()+1, 3)
	if out != generator.Issued {
		t.Fatalf("nothing is issued: %v", out)
	}
	before.note(run.First)
	last, mark := before.lane.Highest(), before.Holding().Mark
	handed := before.handOver()
	if handed.Last != last || handed.Last >= mark {
		t.Fatalf("tick %d is handed over, want %d, below the journal's mark %d", handed.Last, last, mark)
	}
	if n := before.issueAll(); n != 0 {
		t.Errorf("%d IDs were issued after the handover", n)
	}
	w.clock.Advance(2 * time.Millisecond)
	after := must.Get(h.takenOver(handed))(t)
	if after.lane.Floor() != last || after.lane.Ceiling() != mark {
		t.Errorf("the lane is from %d to %d, want from %d to the journal's mark %d", after.lane.Floor(), after.lane.Ceiling(), last, mark)
	}
	if out := after.take(); out != generator.Issued {
		t.Errorf("in the tick in which it takes over it gives %v", out)
	}
	after.issues()
	lane := after.lane
	after.attach()
	after.acquire()
	if after.lane != lane || lane.Closed() {
		t.Errorf("the lane is not the one that was taken over (closed: %v)", lane.Closed())
	}
	after.issueAll()
}

// A worker ID that another has opened since ends before it is claimed again.
func TestATakenOverLaneEndsWhenItsWorkerIDWasOpened(t *testing.T) {
	w := newFixture(t)
	h, thief := w.host("J"), w.host("K")
	handed := h.start().handOver()
	after := must.Get(h.takenOver(handed))(t)
	after.issueAll()
	lane := after.lane
	thief.stealFrom(after).issueAll()
	after.attach()
	after.acquire()
	if !lane.Closed() {
		t.Error("the lane goes on")
	}
	after.issueAll()
}

// What was handed over counts with the journal that it was handed over beside, and no other.
func TestWhatWasHandedOverIsOfTheJournal(t *testing.T) {
	w := newFixture(t)
	h := w.host("J")
	p := h.start()
	p.issues()
	handed := p.handOver()
	for what, change := range map[string]func(*grant.Handed){
		"nothing":                   func(from *grant.Handed) { from.Worker = coord.AnyWorker },
		"another worker ID":         func(from *grant.Handed) { from.Worker++ },
		"another opening":           func(from *grant.Handed) { from.Opening += "2" },
		"more than the journal has": func(from *grant.Handed) { from.Last += 1 << 20 },
	} {
		from := handed
		change(&from)
		p, err := h.takenOver(from)
		if !errors.Is(err, grant.ErrNothingHanded) || p.lane != nil {
			t.Errorf("%s: %v, and it issues: %v", what, err, p.lane != nil)
		}
		p.crash()
	}
}
