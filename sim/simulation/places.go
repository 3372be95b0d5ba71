package simulation

import (
	"fmt"
	"slices"
	"time"

	"github.com/flakeward/flakeward/daemon/journal"
	places "github.com/flakeward/flakeward/daemon/place"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/sim/clocks"
)

// nameless is what is said of a reboot after which the host has no hardware identity.
const nameless = "its hardware identity is gone"

// known is what the host is known by.
func (h *host) known() places.Host {
	return places.Host{Boot: fmt.Sprintf("boot %d of host %d", h.boots, h.number), Machine: h.machine}
}

// file is what a file is known by that was made on a daemon's own volume.
func (s *slot) file() places.File {
	s.files++
	s.host.sim.generations++ // no two files share one, those of a clone and its original neither
	f := places.File{Device: 1, Inode: uint64(1000*s.number + s.files)}
	if s.number%2 == 0 { // the file systems of the others have no handles
		f.Handle = fmt.Sprintf("generation %d", s.host.sim.generations)
	}
	return f
}

// settle gives the journal of a new daemon its place.
func (s *slot) settle() {
	s.disk.Where = places.Place{Host: s.host.known(), Dir: s.file(), Lock: s.file(), Journal: s.file()}
}

// hostOf makes a host.
func (sim *Simulation) hostOf(number int) *host {
	h := &host{sim: sim, number: number, machine: fmt.Sprintf("machine %d", number), synced: number%4 == 1}
	if number < len(sim.plan.Nameless) && sim.plan.Nameless[number] {
		h.machine = ""
	}
	h.clocks = clocks.New(begin.UnixNano() + int64(sim.plan.Apart[number]) + sim.random.Int64N(2e6))
	sim.hosts = append(sim.hosts, h)
	return h
}

// injectPlace makes a fault happen that concerns where journals lie.
func (sim *Simulation) injectPlace(f Fault, s *slot) bool {
	switch f.Kind {
	case Copied:
		return sim.copied(f, s)
	case Rebooted:
		return sim.reboot(f, s.host)
	case Quiet:
		return sim.hush(f, s)
	default:
		return sim.putAside(f, s)
	}
}

// reboot ends all that runs on a host. It comes back with another boot ID, and with its hardware
// identity where it has one.
func (sim *Simulation) reboot(f Fault, h *host) bool {
	known := h.machine != "" && f.What != nameless
	h.boots++
	if !known {
		h.machine = ""
	}
	suddenly := sim.random.IntN(2) == 0
	for _, s := range sim.slots {
		if s.host != h || s.idle && !s.copied {
			continue
		}
		if suddenly {
			s.cutPower(sim.random)
		}
		if s.proc != nil {
			s.proc.end("ended by a reboot", f.For)
		}
		s.disk.Where.Host = h.known()
		if !known {
			s.moved()
		}
	}
	return true
}

// moved notes that a daemon's journal lies where it was written no more.
func (s *slot) moved() { s.lost, s.acked, s.inPlace = true, map[place]generator.Tick{}, false }

// putOld kills a daemon and puts an old copy of its journal back, if there is one that the daemon
// is promised to see through: older than the last publish.
func (sim *Simulation) putOld(s *slot, down time.Duration) bool {
	if len(sim.damaged) > 0 || sim.conditions.early > 0 {
		return false
	}
	copies, cluster := s.disk.Copies(), clusterOf(sim.tree.Layout())
	newestFirst := s.proc == nil || sim.random.IntN(2) == 0
	for i := range copies {
		if newestFirst {
			i = copies - 1 - i
		}
		data := s.disk.Copy(i)
		c, err := journal.On("", kept{data: data}).Read()
		if err != nil || len(c.Entries) == 0 || c.Cluster != cluster {
			continue
		}
		e := c.Entries[len(c.Entries)-1]
		r := sim.record.of(sim.tree.Record(e.Worker))
		granted := r.Ceiling
		released := granted <= r.Mark && s.proc == nil // then nothing was issued above the copy's mark
		if older := e.Mark < max(r.Mark, sim.truth.marks[e.Opening].before); r.Holder == e.Opening && !older && !released {
			continue
		}
		if s.proc != nil {
			s.proc.end("killed, and an old copy of its journal put back", min(down, 100*time.Millisecond))
		}
		s.disk.Put(data)
		s.tampered, s.inPlace = true, false
		return true
	}
	return false
}

// kept is a copy of a journal that can be read.
type kept struct {
	journal.Disk
	data []byte
}

// Read implements journal.Disk.
func (k kept) Read() ([]byte, error) { return k.data, nil }

// putAside has an old copy of a daemon's journal renamed into its place, whoever has it open and
// whether or not the coordinator is there: a journal that is another file is none of this daemon's.
func (sim *Simulation) putAside(f Fault, s *slot) bool {
	d, old := s.disk, s.disk.Copies()
	if old == 0 {
		return false
	}
	known := s.file()
	// The number of a file that is gone is given again. Without a handle nothing would show it.
	if again := sim.random.IntN(3) == 0; again && d.Where.Journal.Handle != "" {
		known.Inode = d.Where.Journal.Inode
	}
	d.Replace(d.Copy(max(sim.random.IntN(old), sim.random.IntN(old))), known, 1+sim.random.IntN(2))
	if s.proc != nil && sim.random.IntN(2) == 0 {
		s.proc.end("killed, and an old copy of its journal renamed into its place", f.For)
	}
	return true
}

// here reports whether what names a place was written there.
func here(was, now places.Place) bool {
	host := was.Boot == now.Boot
	if was.Machine != "" && now.Machine != "" {
		host = was.Machine == now.Machine
	}
	return host && was.Dir == now.Dir && was.Lock == now.Lock && was.Journal == now.Journal
}

// journal is what a start finds on its disk; nil where that is nothing, or not to be trusted. In a run
// in which no journal can lie elsewhere nobody looks.
func (p *proc) journal() *journal.Contents {
	if !p.sim.places {
		return nil
	}
	c, err := journal.On("", p.slot.disk).Read()
	if err != nil {
		return nil
	}
	return &c
}

// usable reports whether a start can use what a journal says, if it lies where it was written.
func (p *proc) usable(c *journal.Contents) bool {
	unknown := func(e journal.Entry) bool { return e.Worker >= p.sim.layout.Workers() }
	return len(c.Entries) > 0 && c.Layout == p.holder.LayoutText() && !slices.ContainsFunc(c.Entries, unknown)
}

// believed judges what a start goes on from: the journal that it has left itself, and no other's.
func (p *proc) believed(c *journal.Contents) {
	sim, s := p.sim, p.slot
	if c == nil {
		if sim.places && s.inPlace && !sim.plan.Lying {
			sim.violate(s, "finds no whole journal, and it has left one here")
		}
		return
	}
	inPlace, took := here(c.Place, s.disk.Where), p.inherited != nil
	if !inPlace {
		p.foreign = c.Entries
	}
	switch {
	case took && !inPlace:
		sim.violate(s, "goes on from a journal that was written elsewhere: %+v, and not %+v", c.Place, s.disk.Where)
	case !took && s.inPlace && p.usable(c) && s.wrongly == 0 && !sim.plan.Lying:
		sim.violate(s, "does not go on from the journal that it has left here")
	}
}

// deleted judges that somebody's claim was deleted: nobody deletes one of a process that runs, but
// that process and operators.
func (sim *Simulation) deleted(name, incarnation string) {
	by := sim.asking
	if by == nil || by.incarnation == incarnation || sim.plan.Blind {
		return
	}
	for _, s := range sim.slots {
		if p := s.proc; p != nil && p.incarnation == incarnation {
			sim.violate(by.slot, "deletes the claim %s of d%d, which runs", name, s.number)
		}
	}
}
