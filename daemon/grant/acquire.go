package grant

import (
	"context"
	"errors"
	"fmt"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

// Acquire claims a worker ID, journals its opening, and has it granted: after it returns without an
// error the issuer uses the lane. With fresh it is another worker ID than the one held, whose mark
// the clock has fallen behind. The lane in use serves on until the new one does, unless the record
// was opened by another since: then it ends before anything is sent that could make it look like
// this daemon's again (invariant 6).
func (k *Holder) Acquire(ctx context.Context, fresh bool) error {
	s := k.snapshot()
	if s.abandoned {
		return errAbandoned
	}
	request := coord.Request{
		Worker:  s.current.worker,
		Fresh:   fresh,
		Opening: s.current.opening,
		Mark:    s.current.mark,
		Latest:  k.tick() + ticks(k.Layout, k.FirstWait),
		Lane:    k.Lane,
		Dead:    k.stale,
	}
	if s.current.cold {
		request.From = s.current.lane.Floor() // for the history: what was issued since is this process's
	}
	if s.current.claim == nil {
		// Nothing runs under that claim any more: it is lost, or of a process that is dead, for the
		// state directory's lock is held. Its node would bar the way until its session ends.
		request.Predecessor = s.current.node
	}
	if err := k.copied(); err != nil {
		return err
	}
	claim := k.pending
	if claim == nil {
		var err error
		if claim, err = k.claim(ctx, request); err != nil {
			err = k.noted(fmt.Errorf("no worker ID: %w", err))
			if s.current.lane == nil && !k.requests.reachable.Load() && !errors.Is(err, errLimited) && k.resume() == nil {
				k.Log.Warn("the coordinator does not answer; issuing from the journal's grant")
			}
			return err
		}
	}
	if s.current.lane == nil && s.current.opening != "" && !claim.Continues() {
		k.Log.Warn("the journal is not continued; the record rules", "journal's worker", s.current.worker, "journal's mark", s.current.mark,
			"worker", claim.Worker(), "floor", claim.Floor())
	}
	k.stale = nil
	// An opening that could not be journaled is kept for the next try: to give it back would lower
	// the record below what the lane before it may still issue.
	k.pending = claim
	switch err := k.take(claim); {
	case errors.Is(err, errUnusable):
		k.pending = nil
		return k.noted(err)
	case err != nil:
		return err
	}
	k.pending = nil
	return k.Publish(ctx)
}

// errUnusable means that a worker ID cannot be issued from, because its record is beyond the
// layout's last tick.
var errUnusable = errors.New("the worker ID cannot be used; take its record back to where it was")

// take makes an acknowledged opening the one in the journal.
func (k *Holder) take(claim coord.Claim) error {
	k.takeTurn()
	defer k.giveTurn()
	s := k.snapshot()
	continues := claim.Continues() && s.current.opening != ""
	if continues && coord.EraOf(s.current.opening) != coord.EraOf(claim.Opening()) {
		// An opening whose ID does not tell its era, as those of earlier versions do not: its lane
		// was limited for good.
		k.drop(claim.Worker())
		s, continues = k.snapshot(), false
	}
	next := holding{worker: claim.Worker(), opening: claim.Opening(), node: claim.Name(), claim: claim}
	if continues {
		next.lane, next.mark, next.published = s.current.lane, s.current.mark, s.current.published
		// A journal that was put back may name a grant that has been given back since.
		next.granted = min(s.current.granted, claim.Floor())
		if next.lane == nil || next.lane.Closed() {
			lane, err := k.lane(next.worker, next.mark)
			if err != nil {
				return err
			}
			next.lane = lane
		}
	} else {
		next.mark = max(claim.Floor(), k.Spent.To(next.worker))
		lane, err := k.lane(next.worker, next.mark)
		if err != nil {
			return err
		}
		next.lane = lane
	}
	// A worker ID that still issues keeps its entry until it is given back. There is room for one:
	// a second one ends here.
	replaced := s.current.lane != nil && s.current.lane != next.lane
	if replaced && s.draining.lane != nil {
		k.mu.Lock()
		k.end(s.current)
		k.mu.Unlock()
	}
	err := k.record(func(now *state) {
		if replaced && s.draining.lane == nil {
			now.draining = s.current
		}
		now.current = next
	})
	if err == nil && k.snapshot().abandoned {
		return errAbandoned
	}
	if err == nil && next.granted > next.mark {
		k.issuer.Use(next.lane) // there is a grant to go on with, whether or not the next one comes
	}
	return err
}

// drop ends what was issued from under a worker ID that another has opened since. Nothing brings it
// back.
func (k *Holder) drop(worker int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, h := range []*holding{&k.state.current, &k.state.draining} {
		if h.worker == worker {
			k.end(*h)
			*h = holding{worker: worker, lane: h.lane, node: h.node}
		}
	}
	if k.state.draining.worker == worker {
		k.state.draining = none
	}
}

// Publish has the grant extended to a window from now, together with what was issued, and finishes
// what the first grant of a worker ID allows: to issue from it, and to give back the one it
// replaces. After coord.ErrLost the holder holds no claim, and issues on within the grant that it
// has.
func (k *Holder) Publish(ctx context.Context) error {
	s := k.snapshot()
	h := s.current
	if h.claim == nil {
		return k.noted(errNoClaim)
	}
	if err := k.copied(); err != nil {
		return err
	}
	ceiling := min(k.tick()+k.window, k.Layout.MaxTick())
	k.mu.Lock()
	if k.state.current.claim == h.claim {
		k.state.current.published = h.mark // from now on the record may have it
	}
	k.mu.Unlock()
	if err := h.claim.Extend(ctx, coord.Progress{Ceiling: ceiling, Issued: h.issued(), Mark: h.mark}); err != nil {
		if errors.Is(err, coord.ErrLost) {
			k.lose(h.claim)
		}
		return k.noted(fmt.Errorf("worker ID %d was not granted more: %w", h.worker, err))
	}
	k.mu.Lock()
	if k.state.current.claim == h.claim {
		k.state.current.granted = max(k.state.current.granted, ceiling)
		k.restrict(&k.state) // the answer may be older than a raise that another lane was told of
	}
	s = k.state
	k.mu.Unlock()
	_ = k.noted(nil)
	k.raise(s)
	if err := k.Renew(); err != nil {
		return err
	}
	if s.current.claim == h.claim && !h.lane.Closed() {
		k.issuer.Use(h.lane)
	}
	if s.current.claim == h.claim && s.current.limited {
		k.ReLease(h.lane) // it was told of a raise, and is in the cluster's era all the same: the lane stays limited
	}
	return k.leave(ctx)
}

var errNoClaim = errors.New("no worker ID is claimed")

// issued is the last tick that was issued from the holding, 0 if none was.
func (h holding) issued() generator.Tick {
	if high := h.lane.Highest(); high > h.lane.Floor() {
		return high
	}
	return 0
}

// lose forgets a claim that the coordinator says is lost.
func (k *Holder) lose(claim coord.Claim) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.state.current.claim == claim {
		k.state.current.claim = nil
	}
}

// leave gives back the worker ID that was replaced, in the one order of every release: the lane is
// closed, then it is gone from the journal, then the record is lowered.
func (k *Holder) leave(ctx context.Context) error {
	h := k.snapshot().draining
	if h.lane == nil {
		return nil
	}
	if err := k.copied(); err != nil {
		return err
	}
	k.mu.Lock()
	last := k.end(h)
	k.mu.Unlock()
	if h.opening != "" {
		if err := k.forget(h); err != nil {
			return err
		}
	}
	lost := h.claim == nil
	if !lost {
		err := h.claim.Release(ctx, last)
		k.heard(err)
		lost = errors.Is(err, coord.ErrLost)
		if err != nil && !lost {
			return fmt.Errorf("worker ID %d was not given back: %w", h.worker, err)
		}
	}
	k.mu.Lock()
	if k.state.draining.lane == h.lane {
		k.state.draining = none
	}
	k.mu.Unlock()
	k.Log.Info("left a worker ID", "worker", h.worker, "last", last, "given back", !lost)
	return nil
}

// forget takes the holding being left out of the journal.
func (k *Holder) forget(h holding) error {
	return k.write(func(now *state) {
		if now.draining.lane == h.lane {
			now.draining.opening = ""
		}
	})
}

// Shut ends the lanes and gives the worker ID back. The journal has the exact last tick then, and
// so has the record if the coordinator answers; if it does not, the journal keeps the grant, so
// that the next start can do without it. A copy keeps its hands off all of it: ErrCopied.
func (k *Holder) Shut(ctx context.Context) error {
	if err := k.copied(); err != nil {
		return err
	}
	leaving, cancel := clockguard.WithTimeout(ctx, k.Clock, lastTimeout)
	err := k.leave(leaving)
	cancel()
	if err != nil {
		k.Log.Warn("the worker ID that was replaced is not given back", "error", err)
	}
	s := k.snapshot()
	h := s.current
	if h.lane == nil {
		if s.abandoned {
			return k.dropGrants()
		}
		return nil
	}
	last := h.stop()
	// Whether the record can be lowered must be known before the journal is written: once a
	// lowering was sent, the grant is gone.
	asking, cancel := clockguard.WithTimeout(ctx, k.Clock, lastTimeout)
	reachable := false
	if h.claim != nil {
		err := h.claim.Extend(asking, coord.Progress{Ceiling: h.granted, Issued: h.issued(), Mark: last})
		k.heard(err)
		reachable = err == nil
	}
	cancel()
	// A mark below the one that the record has would be taken for an old copy of the journal, so
	// the exact one comes last.
	err = k.write(func(now *state) {
		now.current.mark = max(last, h.published)
		if reachable {
			now.current.granted = 0
		}
	})
	if err != nil {
		return fmt.Errorf("worker ID %d is not given back: %w", h.worker, err)
	}
	if h.claim == nil && h.granted == 0 {
		return nil // what was held is of a cluster that is no more
	}
	if !reachable {
		k.Log.Warn("the coordinator does not answer: the worker ID stays claimed until the session ends, the grant stays in the journal", "worker", h.worker)
		return nil
	}
	if err := h.claim.Release(ctx, last); err != nil {
		return fmt.Errorf("worker ID %d was not given back: %w", h.worker, err)
	}
	k.Log.Info("gave back the worker ID", "worker", h.worker, "last", last)
	if err := k.write(func(now *state) { now.current.mark = last }); err != nil {
		k.Log.Warn("the next start has to wait for the mark before", "error", err)
	}
	return nil
}

// write is record for callers without the token.
func (k *Holder) write(change func(*state)) error {
	k.takeTurn()
	defer k.giveTurn()
	return k.record(change)
}
