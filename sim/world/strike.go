package world

import (
	"context"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/sim/disk"
	"github.com/flakeward/flakeward/sim/line"
	"github.com/flakeward/flakeward/sim/tree"
)

// strike makes a fault happen. One that cannot, as there is nothing for it to hit, is not counted.
func (w *World) strike(f Fault) {
	s := w.slots[f.Daemon]
	hit := false
	if f.Kind.OfClocks() {
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
}

// until undoes a fault when its time is over.
func (w *World) until(f Fault, undo func()) bool {
	w.line.At(w.line.Now()+line.Time(f.For), func() {
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
		h.back = h.back || by < 0
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
			w.line.At(now+line.Time(f.For)/times*line.Time(i), func() { step(by) })
		}
	case FreezeWall:
		h.clocks.FreezeWall(now, true)
		return w.until(f, func() { h.clocks.FreezeWall(w.line.Now(), false) })
	case Drift, DriftBoth:
		wall, mono := int64(f.P*1e6), int64(0)
		if f.Kind == DriftBoth {
			mono = wall
		}
		h.clocks.Drift(now, wall, mono)
		return w.until(f, func() { h.clocks.Drift(w.line.Now(), 0, 0) })
	case Leap:
		left := 1e9 - h.read().Wall%1e9
		w.line.At(now+line.Time(left), func() { step(-time.Second) })
	case Suspend:
		h.pause(f.For, func(t line.Time) { h.clocks.FreezeMono(t, true) }, func(t line.Time) { h.clocks.FreezeMono(t, false) })
	case Pause:
		freeze := func(frozen bool) func(line.Time) {
			return func(t line.Time) {
				h.clocks.FreezeMono(t, frozen)
				h.clocks.FreezeWall(t, frozen && !w.healed)
			}
		}
		h.pause(f.For, freeze(true), freeze(false))
	case Stopped:
		h.pause(f.For, func(line.Time) {}, func(line.Time) {})
	}
	return true
}

func (w *World) strikeDaemon(f Fault, s *slot) bool {
	p := s.proc
	switch f.Kind {
	case DiskFull:
		s.disk.Full = true
		return w.until(f, func() { s.disk.Full = false })
	case DiskFails:
		s.disk.Failing = true
		return w.until(f, func() { s.disk.Failing = false })
	case DiskSlow:
		w.weather.slowed[s.number]++
		return w.until(f, func() { w.weather.slowed[s.number]-- })
	}
	if p == nil {
		return false
	}
	switch f.Kind {
	case Kill:
		p.end("killed", f.For)
	case PowerCut:
		p.end("power cut, which leaves "+s.disk.PowerCut(w.fate), f.For)
	case KillAt:
		s.armed = &point{f.Where, f.N, func() {
			p.end("killed at a "+f.Where, f.For)
			w.cutAfter(f, s.host)
		}}
	case PowerCutAt:
		s.armed = &point{f.Where, f.N, func() {
			if !p.dead {
				p.end("power cut at a "+f.Where+", which leaves "+s.disk.PowerCut(w.fate), f.For)
				w.cutAfter(f, s.host)
			}
		}}
	case Restart:
		if p.ending {
			return false
		}
		p.stop(f.For)
	case DiskLost:
		p.end("killed, and its disk lost", f.For)
		s.disk.Lose()
		s.acked = map[place]generator.Tick{}
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
	w.line.At(w.line.Now()+line.Time(f.Cut), func() {
		if !w.healed {
			w.weather.mute[id]--
		}
	})
}

// putOld kills a daemon and puts an old copy of its journal back, if there is one that the daemon is promised to see through: older
// than the last publish, while the coordinator answers.
func (w *World) putOld(s *slot, down time.Duration) bool {
	for _, data := range s.disk.Copies() {
		copied := &disk.Disk{}
		copied.Put(data)
		c, err := journal.On("", copied).Read()
		if err != nil || len(c.Lanes) == 0 || c.Cluster != clusterOf(w.tree.Layout()) {
			continue
		}
		e := c.Lanes[len(c.Lanes)-1]
		if r := recordOf(w.tree.Record(e.Worker)); r.Holder == e.Opening && r.Mark <= e.Mark {
			continue
		}
		s.proc.end("killed, and an old copy of its journal put back", min(down, 100*time.Millisecond))
		s.disk.Put(data)
		s.sheltered = true
		return true
	}
	return false
}

func (w *World) strikeCoordinator(f Fault, s *slot) bool {
	host := s.host.id(w)
	switch f.Kind {
	case Outage:
		w.weather.down++
		return w.until(f, func() {
			w.weather.down--
			w.prolong(0)
		})
	case Cut:
		side := [][]int{w.weather.deaf, w.weather.mute}[w.fate.IntN(2)]
		side[host]++
		return w.until(f, func() { side[host]-- })
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
		w.prolong(line.Time(f.For))
	case Clear:
		return w.clear(s)
	case Raise:
		return w.raise(w.highest + generator.Tick(w.fate.IntN(2000)))
	case Wiped:
		w.tree.Wipe()
		clear(w.seen)
		w.startAgain() // one may have learned no more than that the servers went back
	}
	return true
}

// prolong has the servers hear of every session, or more than that.
func (w *World) prolong(by line.Time) {
	for _, session := range w.tree.Sessions() {
		w.seen[session] = w.line.Now() + by
	}
}

// clear deletes the claim that a daemon uses.
func (w *World) clear(s *slot) bool {
	if s.proc == nil {
		return false
	}
	claim := s.proc.keeper.Holding().Claim
	o, err := w.asOperator()
	if err != nil || claim == "" {
		return false
	}
	if _, err := o.Visit(context.Background()); err != nil {
		return false
	}
	return o.Clear(context.Background(), claim) == nil
}

// raise raises all marks.
func (w *World) raise(to generator.Tick) bool {
	o, err := w.asOperator()
	if err == nil {
		_, err = o.Visit(context.Background())
	}
	if err == nil {
		_, err = o.Raise(context.Background(), to)
	}
	if err == nil {
		w.highest = max(w.highest, to)
	}
	w.say(nil, "marks are raised to %d: %v", to, err)
	return err == nil
}

// restore puts a backup back and raises the marks beyond all that was granted since, before anybody is answered. Then the operator starts
// every daemon again.
func (w *World) restore(f Fault, backup *tree.Tree) {
	if backup == nil || clusterOf(backup.Layout()) == "" || clusterOf(backup.Layout()) != clusterOf(w.tree.Layout()) {
		return
	}
	w.tree.Restore(backup)
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
	w.raise(w.highest)
	w.startAgain()
}

// startAgain has people start every daemon again, one after the other.
func (w *World) startAgain() {
	for _, s := range w.slots {
		w.line.At(w.line.Now()+line.Time(w.fate.Int64N(int64(5*time.Second))), func() {
			s.host.do(func() {
				if s.proc != nil {
					s.proc.stop(100 * time.Millisecond)
				}
			})
		})
	}
}

// beside is a carrier that nothing lies on the way of.
type beside struct{ w *World }

func (b beside) Carry(_ context.Context, _ string, _ bool, do func(*tree.Tree) func()) error {
	do(b.w.tree)()
	return nil
}

// still is the clock of an operator, who never waits.
type still struct{}

func (still) Now() clockguard.Reading                    { return clockguard.Reading{Wall: begin.UnixNano()} }
func (still) Sleep(context.Context, time.Duration) error { return nil }
