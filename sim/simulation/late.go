package simulation

import (
	"context"
	"errors"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/claims"
	"github.com/flakeward/flakeward/generator"
)

// shared is the coordinator as a daemon has it in which the holder is not the only one who calls:
// another calls while a call is under way, and gives up at once.
type shared struct {
	*claims.Coordinator
	p *proc
}

// Claim implements coord.Coordinator.
func (s shared) Claim(ctx context.Context, r coord.Request) (coord.Claim, error) {
	c, err := s.Coordinator.Claim(ctx, r)
	if err != nil {
		return nil, err
	}
	return s.p.share(c), nil
}

func (p *proc) share(c coord.Claim) coord.Claim {
	claim := &sharedClaim{Claim: c, p: p}
	p.claims = append(p.claims, claim)
	return claim
}

type sharedClaim struct {
	coord.Claim
	p     *proc
	calls int // how many are under way
}

// overlapping is how many calls there are to one that another call overlaps.
const overlapping = 32

// Extend implements coord.Claim.
func (c *sharedClaim) Extend(ctx context.Context, progress coord.Progress) error {
	defer c.call()()
	was := c.Name()
	err := c.Claim.Extend(ctx, progress)
	if is := c.Name(); is != "" && is != was {
		c.p.sim.counts.Again++
	}
	return err
}

// Release implements coord.Claim.
func (c *sharedClaim) Release(ctx context.Context, last generator.Last) error {
	defer c.call()()
	err := c.Claim.Release(ctx, last)
	if err == nil {
		c.p.sim.counts.Released++
	}
	return err
}

// call begins a call, and may have another make one while it is under way. What it returns ends the
// call.
func (c *sharedClaim) call() (end func()) {
	c.calls++
	if sim := c.p.sim; c.p.random.IntN(overlapping) == 0 {
		sim.scheduler.At(sim.scheduler.Now()+sim.way(), func() { c.p.do(c.giveUp) })
	}
	return func() { c.calls-- }
}

// giveUp makes calls that are given up while another is under way: they do nothing.
func (c *sharedClaim) giveUp() {
	if c.calls == 0 {
		return
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for _, err := range []error{c.Claim.Extend(over, coord.Progress{}), c.Claim.Release(over, generator.Last{})} {
		if !errors.Is(err, context.Canceled) {
			c.p.sim.violate(c.p.slot, "a call that was given up while another was under way got %v", err)
		}
	}
}

// late makes calls when the coordinator cannot be used any more, as whoever did not hear of it
// would: each gets the reason.
func (p *proc) late(reason error) {
	ctx := context.Background()
	_, err := p.coord.Claim(ctx, coord.Request{Worker: coord.AnyWorker})
	errs := []error{err}
	for _, c := range p.claims {
		if c.calls > 0 {
			continue // a call is under way, and this one would wait for it
		}
		// One that is lost says so; it has no need of the coordinator.
		if err := c.Claim.Extend(ctx, coord.Progress{}); !errors.Is(err, coord.ErrLost) {
			errs = append(errs, err, c.Claim.Release(ctx, generator.Last{}))
		}
	}
	for _, err := range errs {
		if !errors.Is(err, reason) {
			p.sim.violate(p.slot, "a call that came too late got %v, not: %v", err, reason)
		}
	}
}
