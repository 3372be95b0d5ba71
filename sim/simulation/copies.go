package simulation

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/sim/disk"
	"github.com/flakeward/flakeward/sim/scheduler"
)

// Copy is a daemon that begins in the midst of a run, on a copy of another's state directory.
type Copy struct {
	Of    int  // the original
	Host  int  // the host that it runs on
	Named bool // that host has the name of the original's
}

// Where a copy lies, as seen from its original: on the same host or another, as files of their own
// or as a volume that was cloned, on which each file has the number and the handle that it had.
const (
	inDirectory = "in another directory"
	onVolume    = "on a cloned volume"
	onHost      = "on another host"
	asClone     = "on a clone of the machine"
)

// copies makes the daemons that will be copies of others.
func (sim *Simulation) copies() {
	for _, c := range sim.plan.Copies {
		for c.Host >= len(sim.hosts) {
			sim.hostOf(len(sim.hosts))
		}
		of := sim.slots[c.Of]
		s := &slot{number: len(sim.slots), draws: of.draws, host: sim.hosts[c.Host], hostName: of.hostName, acked: map[place]generator.Tick{}, idle: true, handed: grant.Handed{Worker: coord.AnyWorker}}
		if !c.Named {
			s.hostName = fmt.Sprintf("h%d", c.Host)
		}
		s.disk = &disk.Disk{Lies: sim.plan.Lying}
		sim.slots = append(sim.slots, s)
	}
}

// copied starts a daemon on a copy of another's journals, which lives on. It ends for good after
// For, if that is not 0.
func (sim *Simulation) copied(f Fault, from *slot) bool {
	to := sim.slots[len(sim.plan.Hosts)+f.N]
	if !to.idle || to.starts > 0 || sim.healed {
		return false
	}
	to.settle()
	data := sim.taken(from.disk)
	if data == nil {
		return false
	}
	at, was := &to.disk.Where, from.disk.Where
	if f.What == onVolume || f.What == asClone {
		at.Dir, at.Lock, at.Journal = was.Dir, was.Lock, was.Journal
	}
	if f.What == asClone && from.host.machine != "" && to.host.machine != "" && f.N%2 == 0 && f.At%2 == 0 {
		at.Boot = from.host.known().Boot // resumed from a copy of the memory
	}
	if f.What == onVolume {
		at.Dir.Device, at.Lock.Device, at.Journal.Device = 2, 2, 2
	}
	to.disk.Put(data)
	to.idle, to.copied = false, true
	sim.scheduler.At(sim.scheduler.Now(), func() { to.host.do(func() { sim.start(to) }) })
	sim.counts.Copies++
	if f.For != 0 {
		sim.scheduler.At(sim.scheduler.Now()+scheduler.Time(f.For), func() {
			if sim.healed {
				return
			}
			to.idle = true
			if to.proc != nil {
				to.proc.end("ended for good", 0)
			}
		})
	}
	return true
}

// taken is what a copy of a journal holds: the journal as it is, or as it was before, whole or
// torn; nil if there is none.
func (sim *Simulation) taken(d *disk.Disk) []byte {
	data, err := d.Read()
	if err != nil || len(data) == 0 {
		return nil
	}
	data = bytes.Clone(data)
	before := data
	if old := d.Copies(); old > 0 {
		before = d.Copy(sim.random.IntN(old))
	}
	switch at := sim.random.IntN(2)*slotBytes + sim.random.IntN(900); sim.random.IntN(8) {
	case 0, 1:
		return before
	case 2:
		return data[:min(at, len(data))]
	case 3:
		if at < min(len(data), len(before)) {
			copy(data[at:], before[at:])
		}
	}
	return data
}

// soonEnough is within how long a copy has a worker ID of its own, where there is one and the
// coordinator answers.
const soonEnough = 2 * time.Second

// parting judges how long the first start of a copy takes to have a worker ID, if nothing goes
// wrong meanwhile.
func (p *proc) parting(found *journal.Contents) {
	sim, s := p.sim, p.slot
	if !s.copied || s.starts != 1 {
		return
	}
	cluster := sim.cluster.of(sim.tree.Layout())
	if cluster == "" || found != nil && (found.Cluster != cluster || s.wrongly != 0) { // or it waits for a cluster
		return
	}
	if found != nil && len(found.Entries) > 0 {
		s.before = found.Entries[len(found.Entries)-1].Worker
	}
	faults, read, free := sim.counts.Faults, p.known.Now(), p.free(p.known.Now().Wall)
	if !sim.calm(s) {
		return
	}
	sim.scheduler.At(sim.scheduler.Now()+scheduler.Time(soonEnough), func() {
		now := p.known.Now()
		evenly := func(passed int64) bool { return passed > int64(soonEnough)-1e7 && passed < int64(soonEnough)+1e7 }
		if p.dead || p.ending || faults != sim.counts.Faults || !sim.calm(s) || !evenly(now.Wall-read.Wall) || !evenly(int64(now.Mono-read.Mono)) {
			return
		}
		still := p.free(read.Wall)
		for worker := range free {
			if still[worker] && !s.parted {
				sim.violate(s, "a copy has no worker ID %v after its start, and %d is free", soonEnough, worker)
				return
			}
		}
		if s.parted {
			sim.counts.Calmly++
		}
	})
}

// calm reports whether nothing lies between a daemon and a worker ID.
func (sim *Simulation) calm(s *slot) bool {
	x, h := &sim.conditions, s.host.id(sim)
	// A start holds a clock that is too far ahead.
	broken := s.host.ahead() > clockguard.MaxForward || s.disk.Full || s.disk.Failing || s.disk.Moved > 0
	return !broken && x.down == 0 && x.lost == 0 && x.late == 0 && x.stale == 0 && x.early == 0 && x.deaf[h] == 0 && x.mute[h] == 0 && x.slowed[s.number] == 0 &&
		len(sim.damaged) == 0 && s.host.paused == 0 && len(s.armed) == 0 && s.requestFault == nil
}

// free are the worker IDs that nobody has claimed and that nothing was issued from later than a
// time.
func (p *proc) free(wall int64) map[int]bool {
	sim, free := p.sim, map[int]bool{}
	tick := sim.layout.TickAt(wall)
	if tick > sim.layout.MaxTick()-generator.Tick(time.Minute/sim.layout.TickLength()) {
		return free
	}
	claimed := sim.tree.Claimed()
	for worker := range sim.layout.Workers() {
		floor := max(sim.record.of(sim.tree.Record(worker)).Ceiling, sim.truth.raised, markOf(p.foreign, worker))
		if !claimed[worker] && floor < tick {
			free[worker] = true
		}
	}
	return free
}

// part notes that a copy has a worker ID.
func (s *slot) part(sim *Simulation, worker int) {
	if !s.copied || s.parted {
		return
	}
	s.parted = true
	sim.counts.Parted++
	if worker != s.before {
		sim.counts.Apart++
	}
	took := time.Duration(sim.scheduler.Now() - s.proc.began)
	sim.counts.Parting += took
	sim.say(s, "the copy has worker ID %d after %v; its original had %d", worker, took, s.before)
}

// whereabouts draws, in some runs, daemons that begin as copies of others, reboots, and old
// journals renamed into their place.
func (p *Plan) whereabouts(r *rand.Rand) (faults []Fault) {
	hosts := 1
	for _, h := range p.Hosts {
		hosts = max(hosts, h+1)
	}
	for range hosts + 2 {
		p.Nameless = append(p.Nameless, r.IntN(3) == 0)
	}
	when := func() scheduler.Time { return scheduler.Time(3*time.Second) + upTo(r, time.Duration(p.Length)*3/4) }
	if r.IntN(4) == 0 {
		for range 1 + r.IntN(4)/3 {
			copied := p.copy(r, hosts, when())
			hosts = max(hosts, p.Copies[len(p.Copies)-1].Host+1)
			faults = append(faults, copied...)
		}
	}
	if r.IntN(5) == 0 {
		for range 1 + r.IntN(2) {
			faults = append(faults, Fault{Kind: Rebooted, At: when(), Daemon: r.IntN(len(p.Hosts)), For: between(r, 500*time.Millisecond, 8*time.Second), What: pick(r, "", "", nameless)})
		}
	}
	if r.IntN(5) == 0 {
		for range 1 + r.IntN(2) {
			faults = append(faults, Fault{Kind: PutAside, At: when(), Daemon: r.IntN(len(p.Hosts)), For: between(r, time.Millisecond, 2*time.Second)})
		}
	}
	return faults
}

// copy draws a daemon that begins as a copy of another, what the original is up to then, and what
// befalls the copy.
func (p *Plan) copy(r *rand.Rand, hosts int, when scheduler.Time) []Fault {
	of := r.IntN(len(p.Hosts))
	n, number := len(p.Copies), len(p.Hosts)+len(p.Copies)
	copied := Fault{Kind: Copied, At: when, Daemon: of, N: n, What: pick(r, inDirectory, onVolume, onHost, onHost, asClone, asClone)}
	c := Copy{Of: of, Host: p.Hosts[of], Named: true}
	if copied.What == onHost || copied.What == asClone {
		c.Host, c.Named = hosts, r.IntN(2) == 0
		p.Apart = append(p.Apart, time.Duration(upTo(r, pick(r, time.Millisecond, 100*time.Millisecond, 3*time.Second))))
	}
	p.Copies = append(p.Copies, c)
	if r.IntN(2) == 0 {
		copied.For = between(r, 5*time.Second, 30*time.Second)
	}
	faults := []Fault{copied}
	near := func(f Fault) { // what its original, or the copy itself, is up to
		f.At = when - upTo(r, time.Second)
		f.For = between(r, time.Second, 20*time.Second)
		faults = append(faults, f)
	}
	switch r.IntN(8) {
	case 0, 1:
		near(Fault{Kind: Cut, Daemon: of})
	case 2:
		near(Fault{Kind: pick(r, Pause, Stopped), Daemon: of})
	case 3:
		near(Fault{Kind: pick(r, Restart, Kill, PowerCut), Daemon: of})
	case 4:
		near(Fault{Kind: Rebooted, Daemon: of, What: pick(r, "", nameless)})
	}
	switch r.IntN(6) {
	case 0:
		near(Fault{Kind: Cut, Daemon: number})
	case 1:
		near(Fault{Kind: Outage, Daemon: number})
	}
	for range 1 + r.IntN(3) {
		f := p.fault(r, pick(r, Kill, PowerCut, Restart, DiskFails, DiskFull, Cut, EndSession, Clear, Step, Pause, Stopped, Drift, OldCopy, Burst, Rebooted, PutAside))
		if f.Kind == Rebooted || f.Kind == PutAside {
			f.For = between(r, time.Millisecond, 4*time.Second)
		}
		f.Daemon, f.At = number, when+upTo(r, 20*time.Second)
		faults = append(faults, f)
	}
	return faults
}
