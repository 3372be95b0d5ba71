package simulation

import (
	"github.com/flakeward/flakeward/daemon/journal"
)

// recorded knows what the journal says.
type recorded struct {
	*journal.File
	p *proc
}

func (r recorded) Write(c journal.Contents) error {
	err, p := r.File.Write(c), r.p
	if err == nil {
		p.durable = c.Entries
	}
	if p.sim.out != nil {
		p.sim.say(p.slot, "journal: %+v, %v", c.Entries, err)
	}
	return err
}
