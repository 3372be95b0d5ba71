package grant

import (
	"context"
	"errors"
	"fmt"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/generator"
)

// publish has the grant extended as far as it may reach, together with what was issued, and finishes
// what the first grant of a worker ID allows: to issue from it, and to give back the one it
// replaces. After coord.ErrLost the holder holds no claim, and issues on within the grant that it
// has.
func (c *claimer) publish(ctx context.Context) error {
	s := c.held.snapshot()
	h := s.current
	if h.claim == nil {
		return c.contact.noted(errNoClaim)
	}
	if err := copied(c.machine); err != nil {
		return err
	}
	now, issued := c.pace.tick(), h.issued()
	ceiling := c.pace.furthest(now, c.contact.published.Load() != 0)
	told := issued
	if told >= now {
		told-- // more may be issued in it
	}
	err := h.claim.Extend(ctx, coord.Progress{Ceiling: ceiling, Issued: issued, Time: max(0, now)})
	c.issued.Learn(c.coord.Known)
	if err != nil {
		return c.notGranted(h, err)
	}
	_ = c.contact.noted(nil) // before the grant is seen, or it would be one that a failure ends
	node := c.claimedAs(h)
	c.held.change(func(now *state) {
		if now.current.claim == h.claim {
			now.current.granted, now.current.told = max(now.current.granted, ceiling), told
			now.current.node = node
		}
	}) // which cuts it: the answer may be older than the last raise that was learned of
	s = c.held.snapshot()
	c.contact.published.Store(c.pace.now().Wall)
	c.held.raise()
	if s.current.claim == h.claim && !h.lane.Closed() {
		c.issuer.Use(h.lane)
	}
	if s.current.claim == h.claim && s.current.cut {
		c.demand.reLease(h.lane, string(condition.MarksRaised)) // an old raise was told, by a server that lags: the lane stays cut
	}
	return c.leave(ctx)
}

// claimedAs returns the name of the claim's node, and says it if that has been made again. One that is
// not there is tried again within a Publish.
func (c *claimer) claimedAs(h holding) string {
	name := h.claim.Name()
	switch name {
	case h.node:
	case "":
		c.demand.expired.Store(true)
		return h.node
	default:
		c.events.Happened(condition.ClaimLost)
		c.log.Warn("the claim was gone; claimed the same worker ID again",
			"code", condition.ClaimLost, "worker", h.worker, "claim", name, "do", condition.ClaimLost.Do())
	}
	return name
}

// notGranted notes that the holding was not granted more.
func (c *claimer) notGranted(h holding, err error) error {
	if errors.Is(err, coord.ErrLost) {
		c.held.change(func(now *state) {
			if now.current.claim == h.claim {
				now.current.claim = nil
			}
		})
	}
	return c.contact.noted(fmt.Errorf("worker ID %d was not granted more: %w", h.worker, err))
}

var errNoClaim = errors.New("no worker ID is claimed")

// leave gives back the worker ID that was replaced, in the one order of every release: the lane is
// closed, then the record is lowered.
func (c *claimer) leave(ctx context.Context) error {
	h := c.held.snapshot().draining
	if h.lane == nil {
		return nil
	}
	last := h.end(c.issued)
	if err := copied(c.machine); err != nil {
		return err
	}
	lost := h.claim == nil
	if !lost {
		err := h.claim.Release(ctx, c.lowered(h, last))
		c.issued.Learn(c.coord.Known)
		lost = errors.Is(err, coord.ErrLost)
		if err != nil && !lost {
			return fmt.Errorf("worker ID %d was not given back: %w", h.worker, err)
		}
	}
	c.held.change(func(now *state) {
		if now.draining.lane == h.lane {
			now.draining = none()
		}
	})
	c.log.Info("left a worker ID", "worker", h.worker, "last", last, "released", !lost)
	return nil
}

// lowered is what a release lowers the record to, after the lane was closed at last. A lane begins
// at the clock of its opening, which may have been wrong by years: where nothing was issued from
// it, the record goes back to where the opening found it (invariant 1).
func (c *claimer) lowered(h holding, last generator.Tick) generator.Tick {
	if last > h.floor {
		return last
	}
	return max(h.claim.Floor(), c.issued.To(h.worker))
}

// shut ends the lanes and gives the worker ID back. A copy keeps its hands off all of it: ErrCopied.
func (c *claimer) shut(ctx context.Context) error {
	if err := copied(c.machine); err != nil {
		return err
	}
	ctx, cancel := clockguard.WithTimeout(ctx, c.pace.clock, lastTimeout)
	defer cancel()
	if err := c.leave(ctx); err != nil {
		c.log.Warn("the former worker ID was not released", "error", err)
	}
	h := c.held.snapshot().current
	if h.lane == nil {
		return nil
	}
	last, released := h.lane.Close(), errNoClaim
	if err := copied(c.machine); err != nil {
		return err
	}
	if h.claim != nil {
		last = c.lowered(h, last)
		released = h.claim.Release(ctx, last)
		c.issued.Learn(c.coord.Known)
	}
	if released != nil {
		if h.claim != nil || h.granted != 0 { // or what was held is of a cluster that is no more
			c.log.Warn("the worker ID is not released: its record stays where the grant ends", "worker", h.worker, "code", codeOf(released), "reason", released)
		}
		return nil
	}
	c.log.Info("released the worker ID", "worker", h.worker, "last", last)
	return nil
}
