package grant

import "context"

// HoldOnce does what Hold does at once.
func (k *Holder) HoldOnce(ctx context.Context) error { return k.holdOnce(ctx) }
