package simulation

import (
	"github.com/flakeward/flakeward/daemon/journal"
)

// recorded knows what the journal of a lane says.
type recorded struct {
	*journal.File
	of *lanePart
}

func (r recorded) Write(c journal.Contents) error {
	err := r.File.Write(c)
	p := r.of.p
	if err == nil {
		r.of.durable, p.slot.lost, p.slot.inPlace[r.of.number] = c.Lanes, false, true
		if r.of.number == 0 { // that is the one that operators put their hands on
			p.slot.tampered = false
		}
	}
	if p.sim.out != nil {
		p.sim.say(p.slot, "journal: %+v, %v", c.Lanes, err)
	}
	return err
}
