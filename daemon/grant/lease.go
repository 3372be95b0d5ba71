package grant

import (
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

// lease is a worker ID that is, or was, held.
type lease struct {
	worker  int
	opening string          // that the lane is of
	node    string          // the claim node's name
	claim   coord.Claim     // nil: lost or revoked, or there is no worker ID
	lane    *generator.Lane // nil: none yet
	granted generator.Tick  // acknowledged by the coordinator; 0: nothing
	told    generator.Tick  // all IDs up to this tick were published as issued
	cut     bool            // a raise has cut the lane, and with it the grant
}

// none returns the lease of no worker ID.
func none() lease { return lease{worker: coord.AnyWorker} }

// issued is the last tick that was issued from the lease, 0 if none was.
func (l lease) issued() generator.Tick {
	if high := l.lane.Highest(); high > l.lane.Floor() {
		return high
	}
	return 0
}

// serves reports whether the lease has a claim and an open lane.
func (l lease) serves() bool { return l.claim != nil && l.open() }

// open reports whether there is a lane that may issue.
func (l lease) open() bool { return l.lane != nil && !l.lane.Closed() }

// ceiling is the last tick that the lease's lane may issue; 0: it may none.
func (l lease) ceiling() generator.Tick {
	if !l.open() {
		return 0
	}
	return l.lane.Ceiling()
}

// claimed reports whether the lease has a claim, and its node is there, as far as is known.
func (l lease) claimed() bool { return l.claim != nil && l.claim.Name() != "" }

// leases returns what is held now.
func (k *Holder) leases() (current, retiring lease) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.current, k.retiring
}

// change changes what is held, and applies a revocation and the last raise to that: what was opened
// before is cut there. It reports whether a grant reached beyond the raise.
func (k *Holder) change(do func()) (exceeded bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	do()
	for _, l := range []*lease{&k.retiring, &k.current} {
		if k.revoked.Load() {
			k.end(*l)
			l.claim, l.granted = nil, 0
		}
		if raise := k.known.Raise; l.lane != nil && coord.ClusterEpochOf(l.opening) != raise.ClusterEpoch {
			l.lane.Cut(raise.Floor)
			exceeded = exceeded || l.granted > raise.Floor
			l.granted, l.cut = min(l.granted, raise.Floor), true
		}
	}
	return exceeded
}

// end closes a lease's lane, and returns how far its worker ID is known to be issued from. That is
// remembered, as a coordinator that was wiped or restored would not know. The caller holds mu.
func (k *Holder) end(l lease) (last generator.Last) {
	if l.lane == nil {
		return last
	}
	if last = l.lane.Close(); last.Or(0) >= k.issued[l.worker].Or(0) {
		k.issued[l.worker] = last
	}
	return k.issued[l.worker]
}

// Revoke ends all that was issued for a cluster that is no more: in the one that has taken its
// place the worker IDs may be others'. It is final, and may be called from any goroutine: a claim
// that is being made meanwhile is revoked as well.
func (k *Holder) Revoke() {
	k.change(func() { k.revoked.Store(true) })
	k.issuer.Changed()
}

// Learn has the daemon go by what is known of the cluster: name, window, and last raise.
//
// A raise of all marks is for a coordinator that does not know all that it has granted: it was
// restored from a backup. A grant of this daemon's may be among that, and may reach beyond what all
// was raised to, where the next holder of the worker ID begins. So the lanes that were opened
// before are cut there: the one in use, and the one that is retiring.
func (k *Holder) Learn(known func() coord.Cluster) {
	var now coord.Cluster
	exceeded := k.change(func() {
		now = known() // here, so that no lane has two raises in another order
		k.known = now
	})
	if exceeded {
		k.Log.Warn("all marks were raised: nothing above that is issued from a grant of before", "to", now.Raise.Floor, "until", k.Layout.StartOf(now.Raise.Floor))
		k.issuer.Changed()
	}
}

// Holding is what is shown of the worker ID in use. Ticks are of the layout; 0 where there is none.
type Holding struct {
	Cluster string // its UUID; empty: none was joined yet
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
	Claims    int // worker IDs that are claimed: the one in use, and the one that is retiring
}

// Holding shows the worker ID in use.
func (k *Holder) Holding() Holding {
	k.mu.Lock()
	defer k.mu.Unlock()
	cur := k.current
	shown := Holding{Cluster: k.known.UUID, Worker: cur.worker, Claim: cur.node, Claimed: cur.claimed(), Opening: cur.opening, Granted: cur.granted, Published: k.published.Load()}
	if cur.lane != nil {
		shown.Floor, shown.Issued = cur.lane.Floor(), cur.issued()
	}
	for _, l := range []lease{cur, k.retiring} {
		if l.claimed() {
			shown.Claims++
		}
	}
	return shown
}
