//go:build e2e

package drills

import (
	"context"
	"time"
)

// calm breaks nothing: it is the base line for the others' stalls.
func calm(ctx context.Context, r *Run) func(*Result) {
	r.Step("nothing is broken for 5 s")
	last(ctx, 5*time.Second)
	return func(res *Result) {
		for _, h := range r.Hosts {
			res.noneFailed(res.first(h, 0).Answered, res.Ended, h)
		}
	}
}
