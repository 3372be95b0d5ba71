package grant

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/generator"
)

// claimer claims a worker ID, has its grant extended, and gives it back.
type claimer struct {
	held       *holdings
	contact    *contact
	demand     *demand
	pace       *pace
	issuer     Issuer
	issued     *Issued
	machine    generator.Generation
	datacenter uint64
	fromZero   bool
	events     *condition.Counts
	log        hclog.Logger

	coord coord.Coordinator // the one that was joined; set before anything is claimed
}

// acquire claims a worker ID, and has it granted: after it returns without an error the issuer uses
// the lane. With fresh it is another worker ID than the one held, and one whose floor the caller need
// not wait for long. The lane in use serves on until the new one does.
func (c *claimer) acquire(ctx context.Context, fresh bool) error {
	s := c.held.snapshot()
	if s.revoked {
		return errRevoked
	}
	if err := copied(c.machine); err != nil {
		return err
	}
	claim, err := c.coord.Claim(ctx, coord.Request{
		Worker: s.current.worker,
		Fresh:  fresh,
		Look:   c.contact.backoff.waits(),
		Latest: c.pace.latest(),
		Before: func(int) error {
			c.issued.Learn(c.coord.Known) // also of a raise that another follows before the claim is made
			return copied(c.machine)
		},
	})
	c.issued.Learn(c.coord.Known)
	if err != nil {
		return c.contact.noted(fmt.Errorf("no worker ID: %w", err))
	}
	c.contact.backoff.reset()
	if err := c.adopt(claim); err != nil {
		if errors.Is(err, errUnusable) {
			_ = claim.Release(ctx, claim.Floor()) // or it bars its worker ID, also once the record is right
		}
		return c.contact.noted(err)
	}
	return c.publish(ctx)
}

// errUnusable means that a worker ID cannot be issued from, because its record is beyond the
// layout's last tick.
var errUnusable = errors.New("the worker ID cannot be used; take its record back to where it was")

// adopt makes an acknowledged opening the current one.
func (c *claimer) adopt(claim coord.Claim) error {
	s := c.held.snapshot()
	for _, h := range []holding{s.draining, s.current} {
		if h.worker == claim.Worker() {
			h.end(c.issued) // a lane of an earlier opening of this worker ID: the new one begins above it
		}
	}
	next := &holding{worker: claim.Worker(), opening: claim.Opening(), node: claim.Name(), claim: claim}
	// It begins now, and not in the past that nobody was granted: so what is published tells the
	// others the time from the first grant on.
	next.floor = max(claim.Floor(), c.issued.To(next.worker), min(c.pace.tick(), c.pace.layout.MaxTick())-1)
	lane, err := c.newLane(next.worker, next.floor)
	if err != nil {
		return err
	}
	next.lane = lane
	if s.current.lane != nil {
		next.since = c.pace.now().Wall
	}
	// A worker ID that still issues is given back later. There is room for one: a second one ends here.
	room := s.draining.lane == nil || s.draining.worker == next.worker // then there is nothing to give back
	if !room {
		s.current.end(c.issued)
	}
	c.held.change(func(now *state) {
		if room {
			now.draining = now.current
		}
		now.current = next
	})
	if c.held.snapshot().revoked {
		return errRevoked
	}
	return nil
}

func (c *claimer) newLane(worker int, floor generator.Tick) (*generator.Lane, error) {
	lane, err := generator.NewLane(c.pace.layout, c.datacenter, worker, floor)
	if err != nil {
		return nil, fmt.Errorf("worker ID %d: %w: %w", worker, errUnusable, err)
	}
	lane.Bind(c.machine)
	if !c.fromZero {
		lane.Roll()
	}
	return lane, nil
}
