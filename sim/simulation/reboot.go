package simulation

import (
	"fmt"

	"github.com/flakeward/flakeward/sim/clocks"
)

// boot is what names the boot of the host.
func (h *host) boot() string { return fmt.Sprintf("boot %d of host %d", h.boots, h.number) }

// hostOf makes a host.
func (sim *Simulation) hostOf(number int) *host {
	h := &host{sim: sim, number: number, synced: number%4 == 1}
	h.clocks = clocks.New(begin.UnixNano() + int64(sim.plan.Apart[number]) + sim.random.Int64N(2e6))
	sim.hosts = append(sim.hosts, h)
	return h
}

// reboot ends all that runs on a host.
func (sim *Simulation) reboot(f Fault, h *host) bool {
	h.boots++
	for _, s := range sim.slots {
		if s.host == h && s.proc != nil {
			s.proc.end("ended by a reboot", f.For)
		}
	}
	return true
}

// deleted judges that somebody's claim was deleted: nobody deletes one of a process that runs, but
// that process and operators.
func (sim *Simulation) deleted(name, incarnation string) {
	by := sim.asking
	if by == nil || by.incarnation == incarnation {
		return
	}
	for _, s := range sim.slots {
		if p := s.proc; p != nil && p.incarnation == incarnation {
			sim.violate(by.slot, "deletes the claim %s of d%d, which runs", name, s.number)
		}
	}
}
