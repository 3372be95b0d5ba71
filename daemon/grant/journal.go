package grant

import (
	"errors"
	"fmt"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/generator"
)

// Journal is where marks are made durable on this host.
type Journal interface {
	Write(journal.Contents) error
}

// marks are what the journal's marks of holdings are to be.
type marks map[*holding]generator.Tick

// writer writes the journal's file, for one at a time.
type writer struct {
	journal Journal
	machine generator.Generation
	pace    *pace
	disk    failure
	free    chan struct{} // holds one token unless somebody has it
}

// lock waits for the right to write, and unlock gives it back.
func (w *writer) lock()   { clockguard.Await(w.pace.clock, w.free) }
func (w *writer) unlock() { w.free <- struct{}{} }

// write writes the file. A copy writes none. The caller has locked the writer.
func (w *writer) write(c journal.Contents) error {
	if err := copied(w.machine); err != nil {
		return err
	}
	err := w.journal.Write(c)
	w.disk.set(w.pace.now(), err)
	if err == nil {
		return nil
	}
	return fmt.Errorf("the journal was not written: %w", err)
}

// failing returns the condition of a journal that cannot be written, nil if it can.
func (w *writer) failing() *condition.Condition {
	c := w.disk.get()
	if c != nil {
		c.Code = condition.JournalFailing
	}
	return c
}

// renew keeps the journal's marks ahead of the clock while IDs are asked for, and raises the lanes
// up to them. It does nothing while a mark is still half a step ahead. After an error a lane goes
// on to the mark that is on disk and no further.
func (hs *holdings) renew() error {
	if err := copied(hs.writer.machine); err != nil {
		return err
	}
	hs.writer.lock()
	defer hs.writer.unlock()
	hs.mu.Lock()
	s, moved := hs.state, hs.moved
	current, draining := *s.current, *s.draining
	hs.mu.Unlock()
	if moved != nil {
		return moved
	}
	m := marks{s.current: hs.markFor(current), s.draining: hs.markFor(draining)}
	if m[s.current] <= current.mark && m[s.draining] <= draining.mark {
		return nil
	}
	return hs.write(nil, m)
}

// markFor is the mark that h should have on disk now: another one only if something was issued, or
// asked for, since it had the one that it has.
func (hs *holdings) markFor(h holding) generator.Tick {
	if h.lane == nil || h.lane.Closed() {
		return h.mark
	}
	// From the clock, and not from the lane's floor or last tick where those are ahead of it: a
	// daemon that starts and crashes again and again would push its mark on by a step each time.
	now := hs.pace.tick()
	wanted := max(h.lane.Highest(), generator.Tick(hs.asked.Load()))
	if h.mark-now > hs.pace.step/2 || wanted <= h.mark-hs.pace.step { // a mark begins a step ahead
		return h.mark
	}
	return max(h.mark, min(h.granted, now+hs.pace.step))
}

// ask notes that a request found the lane in use at its ceiling, unless another waits there. The
// lane in use is the one that is being left until the other is granted.
func (hs *holdings) ask() {
	s := hs.snapshot()
	if before := hs.asked.Load(); before <= int64(max(s.current.ceiling(), s.draining.ceiling())) {
		hs.asked.CompareAndSwap(before, int64(hs.pace.tick()))
	}
}

// unasked reports whether the mark has ended only because nobody asks for IDs.
func (hs *holdings) unasked(h holding) bool {
	tick, ceiling := hs.pace.tick(), h.ceiling()
	return ceiling > 0 && tick > ceiling && tick <= h.granted && hs.asked.Load() <= int64(ceiling) && hs.writer.disk.get() == nil
}

// record makes a change of what is held when the journal has it. The change replaces holdings, and
// does not write to those that there are. The caller has locked the writer.
func (hs *holdings) record(change func(*state)) error {
	hs.mu.Lock()
	next := hs.state
	hs.mu.Unlock()
	change(&next)
	return hs.write(&next, nil)
}

// recordAlone is record for callers that have not locked the writer.
func (hs *holdings) recordAlone(change func(*state)) error {
	hs.writer.lock()
	defer hs.writer.unlock()
	return hs.record(change)
}

// write writes the journal with the marks, and with what is held next, or now if next is nil. Then,
// and only then, that is what is held, and the lanes may issue up to it. If the write fails all
// stays as it was: what is on disk is then the one or the other, and both are at or above all that
// was issued. The caller has locked the writer.
func (hs *holdings) write(next *state, m marks) error {
	hs.mu.Lock()
	s := hs.state
	if next != nil {
		s = *next
	}
	hs.restrict(s)
	contents := hs.contents(s, m)
	hs.mu.Unlock()
	err := hs.writer.write(contents)
	if errors.Is(err, journal.ErrMoved) {
		hs.endAll(err) // another daemon may have the path by now, and its journal
	}
	if err != nil {
		return err
	}
	hs.mu.Lock()
	for h, to := range m {
		h.mark = max(h.mark, to)
	}
	if next != nil {
		hs.state = s
	}
	hs.restrict(hs.state) // by what has been reported while the journal was written
	hs.mu.Unlock()
	hs.raise()
	return nil
}

// contents is the journal of s, with the marks. The caller holds mu.
func (hs *holdings) contents(s state, m marks) journal.Contents {
	c := journal.Contents{Cluster: s.cluster, Coord: hs.coord, Layout: hs.text}
	for _, h := range s.both() {
		if h.opening != "" {
			c.Entries = append(c.Entries, journal.Entry{Worker: h.worker, Opening: h.opening, Claim: h.node, Floor: h.floor, Mark: max(h.mark, m[h])})
		}
	}
	return c
}
