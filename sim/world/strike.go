package world

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/sim/disk"
	"github.com/flakeward/flakeward/sim/scheduler"
	"github.com/flakeward/flakeward/sim/tree"
)

// strike makes a fault happen, now or at a step of its daemon.
func (w *World) strike(f Fault) {
	if s := w.slots[f.Daemon]; f.Where != "" {
		w.arm(f, s)
	} else {
		w.hit(f, s)
	}
}

// hit makes a fault happen. One that cannot, as there is nothing for it to hit, is not counted.
func (w *World) hit(f Fault, s *slot) {
	// Each has a chance of its own: to leave it out changes nothing for the others.
	w.fate = rand.New(rand.NewPCG(w.plan.Seed, uint64(f.At)<<8|uint64(f.Kind)))
	if s.idle {
		return // there is no such daemon yet, or any more
	}
	hit := false
	if f.Kind >= drawn {
		hit = w.strikePlace(f, s)
	} else if f.Kind.OfClocks() {
		hit = w.strikeClock(f, s.host)
	} else if f.Kind <= OldCopy {
		hit = w.strikeDaemon(f, s)
	} else {
		hit = w.strikeCoordinator(f, s)
	}
	if !hit {
		return
	}
	w.counts.Faults++
	if f.Kind.OfClocks() {
		w.counts.OfClocks++
	}
	w.say(s, "FAULT: %v", f)
	w.cutAfter(f, s.host)
}

// until undoes a fault when its time is over.
func (w *World) until(f Fault, undo func()) bool {
	w.line.At(w.line.Now()+scheduler.Time(f.For), func() {
		if w.healed {
			return
		}
		undo()
		w.say(w.slots[f.Daemon], "over: %s", f.Kind)
	})
	return true
}

func (w *World) strikeClock(f Fault, h *host) bool {
	now := w.line.Now()
	step := func(by time.Duration) {
		if w.healed {
			return
		}
		h.clocks.Step(w.line.Now(), by)
	}
	switch f.Kind {
	case Step:
		step(f.By)
	case Excursion:
		step(f.By)
		return w.until(f, func() { step(-f.By) })
	case Strobe:
		const times = 20
		for i := range times {
			by := f.By
			if i%2 == 1 {
				by = -by
			}
			w.line.At(now+scheduler.Time(f.For)/times*scheduler.Time(i), func() { step(by) })
		}
	case FreezeWall:
		h.clocks.FreezeWall(now, true)
		return w.until(f, func() { h.clocks.FreezeWall(w.line.Now(), false) })
	case Drift, DriftBoth:
		wall, mono := int64(f.P*1e6), int64(0)
		if f.Kind == DriftBoth {
			mono = wall
		} else if w.fate.IntN(3) == 0 {
			wall, mono = mono, wall
		}
		h.clocks.Drift(now, wall, mono)
		return w.until(f, func() { h.clocks.Drift(w.line.Now(), 0, 0) })
	case Leap:
		left := 1e9 - h.read().Wall%1e9
		w.line.At(now+scheduler.Time(left), func() { step(-time.Second) })
	case Suspend:
		h.pause(f.For, func(t scheduler.Time) { h.clocks.FreezeMono(t, true) }, func(t scheduler.Time) { h.clocks.FreezeMono(t, false) })
	case Pause:
		freeze := func(frozen bool) func(scheduler.Time) {
			return func(t scheduler.Time) {
				h.clocks.FreezeMono(t, frozen)
				h.clocks.FreezeWall(t, frozen && !w.healed)
			}
		}
		h.pause(f.For, freeze(true), freeze(false))
	case Stopped:
		h.pause(f.For, func(scheduler.Time) {}, func(scheduler.Time) {})
	}
	return true
}

func (w *World) strikeDaemon(f Fault, s *slot) bool {
	p := s.proc
	switch f.Kind {
	case DiskFull:
		s.all(func(d *disk.Disk) { d.Full = true })
		return w.until(f, func() { s.all(func(d *disk.Disk) { d.Full = false }) })
	case DiskFails:
		errno, anyway := pick(w.fate, syscall.EIO, syscall.EIO, syscall.EROFS, syscall.EACCES, syscall.EDQUOT, syscall.EFBIG), w.fate.IntN(2) == 0
		s.all(func(d *disk.Disk) {
			d.Failing, d.FailsAt, d.Errno, d.Anyway = true, disk.Step(f.What), errno, anyway
		})
		return w.until(f, func() { s.all(func(d *disk.Disk) { d.Failing = false }) })
	case DiskSlow:
		w.weather.slowed[s.number]++
		return w.until(f, func() { w.weather.slowed[s.number]-- })
	}
	if p == nil {
		return f.Kind == OldCopy && w.putOld(s, 0)
	}
	switch f.Kind {
	case Kill:
		p.end("killed", f.For)
	case PowerCut:
		left := ""
		s.all(func(d *disk.Disk) { left += d.PowerCut(w.fate) + " " })
		p.end("power cut, which leaves "+left[:len(left)-1], f.For)
	case Restart:
		if p.ending {
			return false
		}
		p.stop(f.For)
	case DiskLost:
		p.end("killed, and its disk lost", f.For)
		s.all((*disk.Disk).Lose)
		s.moved()
		s.tampered = true
	case DamagedJournal:
		return w.damageJournal(s, f.For)
	case OldCopy:
		return w.putOld(s, f.For)
	}
	return true
}

// cutAfter has nobody hear a host whose process has just ended at a point.
func (w *World) cutAfter(f Fault, h *host) {
	if f.Cut == 0 || w.healed {
		return
	}
	id := h.id(w)
	w.weather.mute[id]++
	w.line.At(w.line.Now()+scheduler.Time(f.Cut), func() {
		if !w.healed {
			w.weather.mute[id]--
		}
	})
}

// putOld kills a daemon and puts an old copy of its journal back, if there is one that the daemon
// is promised to see through: older than the last publish, while the coordinator answers.
func (w *World) putOld(s *slot, down time.Duration) bool {
	if len(w.damaged) > 0 || w.weather.early > 0 {
		return false
	}
	copies := s.disk.Copies()
	if s.proc == nil || w.fate.IntN(2) == 0 { // the newest first
		copies = slices.Clone(copies)
		slices.Reverse(copies)
	}
	for _, data := range copies {
		copied := &disk.Disk{}
		copied.Put(data)
		c, err := journal.On("", copied).Read()
		if err != nil || len(c.Lanes) == 0 || c.Cluster != clusterOf(w.tree.Layout()) {
			continue
		}
		e := c.Lanes[len(c.Lanes)-1]
		r := recordOf(w.tree.Record(e.Worker))
		released := r.Ceiling == r.Mark && s.proc == nil // then nothing was issued above the copy's mark
		released = released && e.Ceiling > r.Ceiling     // as it is, the journal has no grant
		if older := e.Mark < max(r.Mark, w.truth.marks[e.Opening].before); r.Holder == e.Opening && !older && !released {
			continue
		}
		if s.proc != nil {
			s.proc.end("killed, and an old copy of its journal put back", min(down, 100*time.Millisecond))
		}
		s.disk.Put(data)
		s.sheltered, s.old, s.tampered, s.home[0] = true, c.Lanes, true, false
		return true
	}
	return false
}

func (w *World) strikeCoordinator(f Fault, s *slot) bool {
	host := s.host.id(w)
	if f.Kind.ofOneRequest() {
		s.twist = &f
		return true
	}
	switch f.Kind {
	case DirMoved:
		looks := 1 + w.fate.IntN(2)
		s.all(func(d *disk.Disk) { d.Moved = looks })
	case Misconfigured:
		return w.misconfigure(s, f)
	case Burst:
		if s.proc == nil {
			return false
		}
		for range 8 {
			w.line.At(w.line.Now(), func() {
				if s.proc != nil {
					s.proc.do(s.proc.request)
				}
			})
		}
	case Outage:
		w.weather.down++
		return w.until(f, func() {
			w.weather.down--
			w.prolong(0)
		})
	case Cut:
		cut := [][2]int{{1, 0}, {0, 1}}[w.fate.IntN(2)]
		if w.fate.IntN(3) == 0 {
			cut = [2]int{1, 1}
		}
		w.weather.deaf[host] += cut[0]
		w.weather.mute[host] += cut[1]
		return w.until(f, func() {
			w.weather.deaf[host] -= cut[0]
			w.weather.mute[host] -= cut[1]
		})
	case Lossy:
		w.weather.lost += f.P
		return w.until(f, func() { w.weather.lost = max(0, w.weather.lost-f.P) })
	case Late:
		w.weather.late += f.P
		return w.until(f, func() { w.weather.late = max(0, w.weather.late-f.P) })
	case Twice:
		w.weather.twice += f.P
		return w.until(f, func() { w.weather.twice = max(0, w.weather.twice-f.P) })
	case Stale:
		w.weather.stale += f.P
		return w.until(f, func() { w.weather.stale = max(0, w.weather.stale-f.P) })
	case EndSession:
		if s.proc == nil || s.proc.store.Session() == 0 {
			return false
		}
		session := s.proc.store.Session()
		delete(w.seen, session)
		w.tree.End(session)
	case Prolong:
		w.prolong(scheduler.Time(f.For))
	case Clear:
		return w.clear(s)
	case Raise:
		to := w.highest + generator.Tick(w.fate.IntN(2000))
		if w.fate.IntN(2) == 0 {
			to = max(0, to-2000) // to less than it is: that lowers nothing
		}
		return w.raise(to)
	case Wiped:
		if w.misconfigured() { // it would be the first in the new cluster, and nobody else then
			return false
		}
		w.tree.Wipe()
		w.older = nil
		clear(w.seen)
		w.startAgain() // one may have learned no more than that the servers went back
	case DamagedLayout, DamagedRecord, DamagedHint:
		return w.damageTree(f, s)
	}
	return true
}

// prolong has the servers hear of every session, or more than that.
func (w *World) prolong(by scheduler.Time) {
	for _, session := range w.tree.Sessions() {
		w.seen[session] = w.line.Now() + by
	}
}

// raise raises all marks.
func (w *World) raise(to generator.Tick) bool {
	o, err := w.asOperator()
	if err == nil {
		_, err = o.Visit(context.Background())
	}
	if err == nil {
		if _, err := o.Claim(context.Background(), coord.Request{}); !errors.Is(err, coord.ErrNotJoined) {
			w.violate(nil, "a visitor claims a worker ID: %v", err)
		}
		_, err = o.Raise(context.Background(), to)
	}
	if err == nil {
		w.highest, w.truth.raised = max(w.highest, to), max(w.truth.raised, to)
	}
	w.say(nil, "marks are raised to %d: %v", to, err)
	return err == nil
}

// restore puts a backup back and raises the marks beyond all that was granted since, before anybody
// is answered. Then the operator starts every daemon again.
func (w *World) restore(f Fault, b *backup) {
	if b == nil || clusterOf(b.tree.Layout()) == "" || clusterOf(b.tree.Layout()) != clusterOf(w.tree.Layout()) {
		return
	}
	replaced := w.tree.Clone()
	w.tree.Restore(b.tree)
	w.older = nil
	w.restored(b)
	w.mendAll()
	sessions := map[int64]bool{}
	for _, session := range w.tree.Sessions() {
		sessions[session] = true
		if _, ok := w.seen[session]; !ok {
			w.open(session)
		}
	}
	for session := range w.seen {
		if !sessions[session] {
			delete(w.seen, session)
		}
	}
	w.counts.Faults++
	w.say(nil, "FAULT: %v", f)
	if w.truth.cluster == clusterOf(w.tree.Layout()) {
		w.truth.raised = max(w.truth.raised, w.highest)
	}
	sheltered := slices.ContainsFunc(w.slots, func(s *slot) bool { return s.sheltered })
	if same := w.sameHolders(b.tree, replaced); !same || f.By == 0 || sheltered {
		w.raise(w.highest)
		w.startAgain()
		return
	}
	// Who holds what is what it was: nobody who only extends a grant can do harm until the marks
	// are raised.
	w.weather.early++
	w.line.At(w.line.Now()+scheduler.Time(f.By), func() {
		w.weather.early--
		w.mendAll() // nothing can be raised before
		w.raise(w.highest)
		w.startAgain()
	})
}

// sameHolders reports whether each record of a tree that another has replaced had the holder that
// it has there, or was not there.
func (w *World) sameHolders(now, before *tree.Tree) bool {
	for worker := range w.layout.Workers() {
		if r := recordOf(now.Record(worker)); r.Holder != "" && r.Holder != recordOf(before.Record(worker)).Holder {
			return false
		}
	}
	return true
}

// startAgain has people start every daemon again, one after the other.
func (w *World) startAgain() {
	for _, s := range w.slots {
		w.line.At(w.line.Now()+scheduler.Time(w.fate.Int64N(int64(5*time.Second))), func() {
			s.host.do(func() {
				if s.proc != nil {
					s.proc.stop(100 * time.Millisecond)
				}
			})
		})
	}
}
