package grant

import (
	"context"
	"errors"
)

// HoldOnce does what Hold does first.
func (k *Holder) HoldOnce(ctx context.Context) error {
	next, _ := k.situation(past{}).next()
	return k.take(ctx, next)
}

// Publish has the worker ID in use granted more, and gives back the one that was replaced.
func (k *Holder) Publish(ctx context.Context) error {
	if cur, _ := k.leases(); cur.claim == nil {
		return errors.Join(k.barred(), errors.New("no worker ID is claimed"))
	}
	if err := k.extend(ctx); err != nil {
		return err
	}
	return k.giveBack(ctx)
}
