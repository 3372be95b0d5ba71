package grant

import (
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/coord"
)

// state is what is held. Its holdings are shared: whoever has a state has them as they are now.
type state struct {
	cluster  string
	current  *holding
	draining *holding // its worker is coord.AnyWorker if there is none
}

// both returns the holdings.
func (s state) both() []*holding { return []*holding{s.draining, s.current} }

// holdings are the worker IDs of the daemon: at most one that is in use, and one that is being left.
//
// One goroutine at a time changes which they are: that of Holder.Hold, then that of Holder.Shut. Any
// goroutine may cut them, and revoke them all.
type holdings struct {
	pace   *pace
	issuer Issuer
	issued *Issued
	log    hclog.Logger

	mu      sync.Mutex // guards what follows; never held over a call that waits
	state   state
	revoked bool         // final: the cluster is no more
	raised  *coord.Raise // the last that was learned of; nil: the cluster has not been joined
}

// snapshot is what is held at one moment.
type snapshot struct {
	current, draining holding
	revoked           bool
}

// snapshot returns what is held now.
func (hs *holdings) snapshot() snapshot {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	s := hs.state
	return snapshot{*s.current, *s.draining, hs.revoked}
}

// change changes what is held.
func (hs *holdings) change(do func(*state)) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	do(&hs.state)
	hs.restrict(hs.state)
}

// restrict applies the last raise and a revocation to what s holds, and reports whether a grant
// reached beyond the raise. The caller holds mu.
func (hs *holdings) restrict(s state) (exceeded bool) {
	for _, h := range s.both() {
		if hs.revoked {
			h.end(hs.issued)
			h.claim, h.granted = nil, 0
		}
		if hs.raised != nil && h.cutAt(*hs.raised) {
			exceeded = true
		}
	}
	return exceeded
}

// revoke ends all that was issued for a cluster that is no more. It is final.
func (hs *holdings) revoke() {
	hs.mu.Lock()
	hs.revoked = true
	hs.restrict(hs.state)
	hs.mu.Unlock()
	hs.issuer.Changed()
}

// attach notes the cluster that was joined.
func (hs *holdings) attach(uuid string) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	hs.state.cluster = uuid
}

// cluster is the one that was joined; empty: none yet.
func (hs *holdings) cluster() string {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	return hs.state.cluster
}

// cut cuts what was opened before a raise, at once.
func (hs *holdings) cut(r coord.Raise) {
	hs.mu.Lock()
	hs.raised = &r
	exceeded := hs.restrict(hs.state)
	hs.mu.Unlock()
	if exceeded {
		hs.log.Warn("all marks were raised: nothing above that is issued from a grant of before", "to", r.Floor, "until", hs.pace.layout.StartOf(r.Floor))
		hs.issuer.Changed()
	}
}

// raise lets the lanes issue up to what is granted (invariant 3).
func (hs *holdings) raise() {
	rose := false
	s := hs.snapshot()
	for _, h := range []holding{s.current, s.draining} {
		if h.lane == nil {
			continue
		}
		if h.granted > h.lane.Ceiling() && h.lane.Raise(h.granted) {
			rose = true
		}
	}
	if rose {
		hs.issuer.Changed()
	}
}
