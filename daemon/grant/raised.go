package grant

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/journal"
)

// A raise of all marks is for a coordinator that does not know all that it has granted: it was
// restored from a backup. A grant of this daemon's may be among that, and may reach beyond what all
// was raised to, where the next holder of the worker ID begins. So whoever learns of a raise issues
// nothing above its floor from a grant of another era: neither from the lane in use nor from the
// one that is being left, nor, after a crash, from the journal.

// Raised tells all of the daemon's holders what all marks were raised to last. What one of them is
// told binds the others. An era that another has followed is over: who names it has read an old
// state, or was told of the raise before another lane and says so after it. No raise ever makes it
// the cluster's again, so it limits nobody.
func (s *Spent) Raised(r coord.Raise) {
	s.raising.Lock() // until all are told, so that none is told of two raises in another order
	defer s.raising.Unlock()
	if r.Number < s.newest {
		return
	}
	s.newest = r.Number
	s.mu.Lock()
	holders := slices.Clone(s.holders)
	s.mu.Unlock()
	for _, k := range holders {
		k.limit(r)
	}
}

// limit limits what is held from another era than the raise's, at once. The journal follows: see
// keepLimit.
func (k *Holder) limit(r coord.Raise) {
	k.mu.Lock()
	before := k.raised
	k.raised = &r
	limited := k.restrict(&k.state)
	// A write of the journal that is under way may not know of it. Nor does the journal of a start,
	// which may name a grant besides those that are held.
	if limited || before == nil && exceeds(k.inherited, r) || before != nil && before.Era != r.Era {
		k.limits++
	}
	k.mu.Unlock()
	if limited {
		k.Log.Warn("all marks were raised: nothing above that is issued from a grant of before", "to", r.Floor, "until", k.Layout.StartOf(r.Floor))
		ring(k.wakes.disk)
		k.issuer.Changed()
	}
}

// exceeds reports whether a journal names a grant of another era that reaches beyond the raise.
func exceeds(c journal.Contents, r coord.Raise) bool {
	return slices.ContainsFunc(c.Lanes, func(e journal.Entry) bool { return e.Ceiling > r.Floor && coord.EraOf(e.Opening) != r.Era })
}

// restrict applies the last raise to what s holds, and reports whether a grant reached beyond it.
// The caller holds mu.
func (k *Holder) restrict(s *state) (limited bool) {
	if k.raised == nil {
		return false
	}
	for _, h := range []*holding{&s.current, &s.draining} {
		if h.opening == "" || coord.EraOf(h.opening) == k.raised.Era {
			continue
		}
		if h.lane != nil {
			h.lane.Limit(k.raised.Floor)
		}
		if h.granted > k.raised.Floor {
			h.granted, limited = k.raised.Floor, true
		}
		h.limited = true
	}
	return limited
}

// owesLimit reports whether the journal may still name a grant beyond the last raise.
func (k *Holder) owesLimit() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.limits != k.limitsKept
}

// keepLimit makes the journal say no more than what the last raise leaves. Nothing is sent to the
// coordinator before: what is sent may hand the worker ID to another, and a start that finds the
// coordinator away goes by the journal.
func (k *Holder) keepLimit() error {
	if !k.owesLimit() {
		return nil
	}
	return k.write(func(*state) {})
}

// errLimited ends a claim that has met a raise before anything is sent. It is made again once the
// journal knows.
var errLimited = errors.New("all marks were raised, and the journal does not say so yet")

// onRaise is coord.Request's Raised. It is called before each claim node is made, so a copy makes
// none.
func (k *Holder) onRaise(r coord.Raise) error {
	if err := k.copied(); err != nil {
		return err
	}
	k.Spent.Raised(r)
	if k.owesLimit() {
		return errLimited
	}
	return nil
}

// claim claims a worker ID and opens it, with a journal that knows of the last raise. Between the
// two steps it ends the lane that the opening would not continue (invariant 6).
func (k *Holder) claim(ctx context.Context, request coord.Request) (coord.Claim, error) {
	request.Raised = k.onRaise
	for {
		if err := k.keepLimit(); err != nil {
			return nil, fmt.Errorf("%w: %w", errLimited, err)
		}
		pending, err := k.coord.Claim(ctx, request)
		if errors.Is(err, errLimited) && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !pending.Continues() {
			k.drop(pending.Worker())
		}
		claim, err := pending.Open(ctx)
		if !errors.Is(err, coord.ErrRaced) {
			return claim, err
		}
	}
}

// heard takes from an answer what all marks were raised to, if it says so.
func (k *Holder) heard(err error) {
	var raised *coord.RaisedError
	if errors.As(err, &raised) {
		k.Spent.Raised(raised.Raise)
	}
}

// lookAgain looks at the cluster's record after an answer that will not change any more, or from
// servers that answer this session no more: they went back to an earlier state, and the raise that
// follows a restore is to be seen. It does so once every Publish. It returns coord.ErrOtherCluster,
// and no other error.
func (k *Holder) lookAgain(ctx context.Context, answer error) error {
	var restored *coord.RestoredError
	now := k.now().Mono
	if !errors.As(answer, &restored) && !errors.Is(answer, coord.ErrTurnedAway) || now < k.nextLook {
		return nil
	}
	k.nextLook = now + clockguard.Mono(k.jitter(k.Timing.Publish))
	err := k.within(ctx, callTimeout, func(ctx context.Context) error {
		found, err := k.coord.Look(ctx)
		if err == nil {
			k.Spent.Raised(found.Raise)
		}
		return err
	})
	if errors.Is(err, coord.ErrOtherCluster) {
		return fmt.Errorf("looked at the cluster's record again: %w", err)
	}
	if err != nil {
		k.Log.Debug("the cluster's record could not be looked at", "error", err)
	}
	return nil
}
