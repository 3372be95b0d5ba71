package grant

import (
	"errors"
	"fmt"

	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/generator"
)

// ErrNoGrant means that the journal has no grant that could be issued from without the coordinator.
var ErrNoGrant = errors.New("the journal holds no grant that has not ended")

// ErrRefused means that the coordinator has answered, and that its answer may be that the journal's
// grant is another's by now.
var ErrRefused = errors.New("the coordinator has answered and refuses, so the journal's grant is not issued from")

// coldStart begins to issue from the grant that the journal holds, with no coordinator: between the
// journal's mark and the ceiling that was acknowledged nobody else can issue, for whoever opens the
// record meanwhile starts above that ceiling.
func (c *claimer) coldStart(from journal.Contents) error {
	newest := c.held.snapshot().current
	if newest.lane != nil {
		return nil // it was taken over
	}
	err := c.resume()
	for i := len(from.Lanes) - 2; i >= 0 && !from.Lanes[i].Left && errors.Is(err, ErrNoGrant) && newest.opening != ""; i-- {
		// The newest opening has not been granted anything yet; what was to be left for it has.
		c.held.change(func(now *state) { now.current = inherited(from.Lanes[i]) })
		if err = c.resume(); errors.Is(err, ErrNoGrant) {
			c.held.change(func(now *state) { now.current = &newest })
		}
	}
	return err
}

// resume issues from what is left of the grant that was inherited, above the journal's mark.
func (c *claimer) resume() error {
	if err := c.goOn(c.held.snapshot().current.mark); err != nil {
		return err
	}
	return c.held.renew()
}

// goOn uses a lane of the grant that was inherited. It begins above floor, the journal's mark or,
// where it is known, the last tick that was issued, and ends at the mark until that is renewed.
func (c *claimer) goOn(floor generator.Tick) error {
	if c.issued.poisoned.Load() {
		return ErrRefused
	}
	cur := c.held.snapshot().current
	if cur.lane != nil || cur.opening == "" || cur.granted <= max(floor, c.pace.tick()) {
		return ErrNoGrant
	}
	lane, err := c.newLane(cur.worker, floor)
	if err != nil {
		return err
	}
	refused := false
	c.held.change(func(now *state) {
		if refused = c.held.revoked; !refused {
			now.current.lane, now.current.cold = lane, true
		}
	})
	if refused {
		return ErrRefused
	}
	c.issuer.Use(lane)
	c.held.raise()
	return nil
}

func (c *claimer) newLane(worker int, floor generator.Tick) (*generator.Lane, error) {
	lane, err := generator.NewLane(c.pace.layout, c.datacenter, worker, floor)
	if err != nil {
		return nil, fmt.Errorf("worker ID %d: %w: %w", worker, errUnusable, err)
	}
	lane.Bind(c.machine)
	lane.Skip(c.skipped)
	if !c.fromZero {
		lane.Roll()
	}
	return lane, nil
}
