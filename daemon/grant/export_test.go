package grant

import "context"

// HoldOnce does what Hold does first.
func (k *Holder) HoldOnce(ctx context.Context) error {
	next, _ := k.situation(past{}).next()
	return k.take(ctx, next)
}
