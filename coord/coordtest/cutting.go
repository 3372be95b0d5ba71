package coordtest

import (
	"context"
	"sync"

	"github.com/flakeward/flakeward/coord"
)

// Cut ends a move at one of its writes, as the end of its process would. It counts the writes of
// both sides. It is safe for concurrent use.
type Cut struct {
	mu     sync.Mutex
	after  int
	landed bool
	over   bool
}

// NewCut cuts at the write that comes after n others: before it, or, if landed, after it and
// before its answer.
func NewCut(n int, landed bool) *Cut { return &Cut{after: n, landed: landed} }

// Happened reports whether the move was cut.
func (c *Cut) Happened() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over
}

// Side makes one side of a move subject to the cut. All calls after it answer ErrFault.
func (c *Cut) Side(m coord.Mover) coord.Mover { return cutMover{m, c} }

func (c *Cut) write(ctx context.Context, do func(context.Context) error) error {
	c.mu.Lock()
	if c.over {
		c.mu.Unlock()
		return ErrFault
	}
	c.after--
	c.over = c.after < 0
	cut := c.over
	c.mu.Unlock()
	if !cut {
		return do(ctx)
	}
	if c.landed {
		_ = do(context.WithoutCancel(ctx)) // it was sent, whatever becomes of its caller
	}
	return ErrFault
}

type cutMover struct {
	coord.Mover
	cut *Cut
}

func (m cutMover) Change(ctx context.Context, was, next coord.Place) error {
	return m.cut.write(ctx, func(ctx context.Context) error { return m.Mover.Change(ctx, was, next) })
}

func (m cutMover) Store(ctx context.Context, at coord.Place, c coord.Copy) error {
	return m.cut.write(ctx, func(ctx context.Context) error { return m.Mover.Store(ctx, at, c) })
}

func (m cutMover) Place(ctx context.Context) (coord.Place, error) {
	if m.cut.Happened() {
		return coord.Place{}, ErrFault
	}
	return m.Mover.Place(ctx)
}
