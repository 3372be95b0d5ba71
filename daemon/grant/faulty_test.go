package grant_test

import (
	"context"
	"errors"
	"math"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

var errCut = errors.New("the reply was lost")

// faulty loses replies: the call is made, its outcome stored, and the caller learns nothing.
type faulty struct {
	coord.Coordinator
	wants                              int // the worker ID that a claim for any asks for
	loseClaim, loseExtend, loseRelease bool
	floor                              *generator.Tick         // of each claim, whatever its record says
	before                             func(call string) error // refuses a call before it is made
	asked                              func(coord.Request)     // sees what is claimed
	claimed                            func()                  // called before an opening is sent
	late                               func()                  // called once, between the answer to an extend and its caller
	making                             func() error            // refuses a claim's node before it is made
	looked                             func()                  // called with each look at the cluster's record
	released                           generator.Tick          // up to where the last release said that was issued; 0: nothing was
}

func (f *faulty) Claim(ctx context.Context, r coord.Request) (coord.Claim, error) {
	if err := f.refuse("claim"); err != nil {
		return nil, err
	}
	if f.asked != nil {
		f.asked(r)
	}
	if r.Worker == coord.AnyWorker && !r.Fresh {
		r.Worker = f.wants
	}
	if f.floor != nil {
		r.Latest = math.MaxInt64
	}
	before := r.Before
	r.Before = func(worker int) error {
		if f.claimed != nil && worker != coord.AnyWorker {
			f.claimed()
		}
		if f.making != nil && worker == coord.AnyWorker {
			if err := f.making(); err != nil {
				return err
			}
		}
		if before == nil {
			return nil
		}
		return before(worker)
	}
	c, err := f.Coordinator.Claim(ctx, r)
	if err != nil {
		return nil, err
	}
	if f.loseClaim {
		return nil, errCut
	}
	if err := f.refuse("opened"); err != nil {
		return nil, err
	}
	return &faultyClaim{Claim: c, f: f}, nil
}

func (f *faulty) Look(ctx context.Context) (coord.Cluster, error) {
	if f.looked != nil {
		f.looked()
	}
	return f.Coordinator.Look(ctx)
}

func (f *faulty) refuse(call string) error {
	if f.before == nil {
		return nil
	}
	return f.before(call)
}

type faultyClaim struct {
	coord.Claim
	f *faulty
}

func (c *faultyClaim) Floor() generator.Tick {
	if c.f.floor != nil {
		return *c.f.floor
	}
	return c.Claim.Floor()
}

func (c *faultyClaim) Extend(ctx context.Context, p coord.Progress) error {
	if err := c.f.refuse("extend"); err != nil {
		return err
	}
	err := c.Claim.Extend(ctx, p)
	if late := c.f.late; late != nil {
		c.f.late = nil
		late()
	}
	if err != nil || !c.f.loseExtend {
		return err
	}
	return errCut
}

func (c *faultyClaim) Release(ctx context.Context, last generator.Last) error {
	if err := c.f.refuse("release"); err != nil {
		return err
	}
	c.f.released = last.Or(-1)
	if err := c.Claim.Release(ctx, last); err != nil || !c.f.loseRelease {
		return err
	}
	return errCut
}
