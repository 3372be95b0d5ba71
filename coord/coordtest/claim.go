package coordtest

import (
	"context"
	"errors"

	"github.com/flakeward/flakeward/coord"
)

// Claim claims a worker ID and opens it: both steps, as often as another is faster between them.
func Claim(ctx context.Context, c coord.Coordinator, r coord.Request) (coord.Claim, error) {
	return ClaimWith(ctx, c, r, func(coord.Pending) {})
}

// ClaimWith is Claim, and calls between between the two steps.
func ClaimWith(ctx context.Context, c coord.Coordinator, r coord.Request, between func(coord.Pending)) (coord.Claim, error) {
	for {
		pending, err := c.Claim(ctx, r)
		if err != nil {
			return nil, err
		}
		between(pending)
		claim, err := pending.Open(ctx)
		if !errors.Is(err, coord.ErrRaced) {
			return claim, err
		}
	}
}

// Drops counts the calls in which a claim does not continue: its caller's lane ends then.
func Drops(n *int) func(coord.Pending) {
	return func(p coord.Pending) {
		if !p.Continues() {
			*n++
		}
	}
}
