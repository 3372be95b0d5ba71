package grant

import (
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

// holding is a worker ID that is, or was, held.
type holding struct {
	worker  int
	opening string          // that the lane is of; empty: there is none
	node    string          // the claim node's name
	claim   coord.Claim     // nil: lost or revoked, or there is no worker ID
	lane    *generator.Lane // nil: none yet
	granted generator.Tick  // acknowledged by the coordinator; 0: nothing
	floor   generator.Tick  // of the lane
	told    generator.Tick  // all IDs up to this tick were published as issued
	// since is when the lane took the place of another, by the wall clock; 0: it is the first.
	since int64
	// cut is set once a raise has cut the lane, and with it the grant.
	cut bool
}

// none returns the holding of no worker ID.
func none() *holding { return &holding{worker: coord.AnyWorker} }

// issued is the last tick that was issued from the holding, 0 if none was.
func (h holding) issued() generator.Tick {
	if high := h.lane.Highest(); high > h.lane.Floor() {
		return high
	}
	return 0
}

// extends reports whether the holding's grant goes on without another worker ID.
func (h holding) extends() bool {
	return h.claim != nil && h.lane != nil && !h.lane.Closed() && !h.cut
}

// end closes the holding's lane, remembers how far it has issued, as a coordinator that was wiped would
// not know, and returns that.
func (h holding) end(issued *Issued) generator.Tick {
	if h.lane == nil {
		return h.floor
	}
	last := h.lane.Close()
	issued.Note(h.worker, h.floor, last)
	return last
}

// cutAt cuts the holding at a raise, if it was opened before, and reports whether its grant reached
// beyond it.
func (h *holding) cutAt(r coord.Raise) (exceeded bool) {
	if h.opening == "" || coord.ClusterEpochOf(h.opening) == r.ClusterEpoch {
		return false
	}
	if h.lane != nil {
		h.lane.Cut(r.Floor)
	}
	if h.granted > r.Floor {
		h.granted, exceeded = r.Floor, true
	}
	h.cut = true
	return exceeded
}

// Holding is what is shown of the worker ID in use. Ticks are of the layout; 0 where there is none.
type Holding struct {
	Worker  int    // coord.AnyWorker: none
	Claim   string // the claim node's name
	Claimed bool   // the claim was not lost, as far as is known
	Opening string
	Floor   generator.Tick
	Issued  generator.Tick
	Granted generator.Tick // the coordinator's ceiling, as acknowledged
	// Published is when the coordinator has granted last, by this process's known time, in
	// nanoseconds since 1970; 0: never.
	Published int64
	Claims    int // worker IDs that are claimed: the one in use, and the one that is being left
}

// claimed reports whether the holding has a claim, and its node is there, as far as is known.
func (h holding) claimed() bool { return h.claim != nil && h.claim.Name() != "" }

// shown returns the holding as it is shown.
func (h holding) shown() Holding {
	shown := Holding{Worker: h.worker, Claim: h.node, Claimed: h.claimed(), Opening: h.opening, Granted: h.granted}
	if h.lane != nil {
		shown.Floor, shown.Issued = h.lane.Floor(), h.issued()
	}
	return shown
}

// claims counts the worker IDs that are claimed.
func (hs *holdings) claims() (n int) {
	s := hs.snapshot()
	for _, h := range []holding{s.current, s.draining} {
		if h.claimed() {
			n++
		}
	}
	return n
}
