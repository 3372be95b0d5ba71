package grant

import "github.com/flakeward/flakeward/generator"

// Holding is what is shown of the worker ID in use. Ticks are of the layout; 0 where there is none.
type Holding struct {
	Worker  int    // coord.AnyWorker: none
	Claim   string // the claim node's name
	Claimed bool   // the claim was not lost, as far as is known
	Opening string
	Floor   generator.Tick
	Issued  generator.Tick
	Mark    generator.Tick // the journal's
	Granted generator.Tick // the coordinator's ceiling, as acknowledged
}

// Holding shows the worker ID in use.
func (k *Holder) Holding() Holding {
	h := k.snapshot().current
	shown := Holding{Worker: h.worker, Claim: h.node, Claimed: h.claim != nil, Opening: h.opening, Mark: h.mark, Granted: h.granted}
	if h.lane != nil {
		shown.Floor, shown.Issued = h.lane.Floor(), h.issued()
	}
	return shown
}
