package client

import (
	"context"
	"fmt"
	"iter"
	"math"
	"time"
)

// Next returns an ID. If there is one in stock, that takes no lock, allocates nothing, and does not
// look at ctx. Otherwise it waits until one arrives or ctx ends.
//
// The error is ErrClosed, an *UnavailableError, *RefusedError, *UnreachableError or *ProtocolError,
// or wraps ctx's error and, if there is one, what the last attempt to reach the daemon failed with.
func (c *Client) Next(ctx context.Context) (int64, error) {
	r := c.current.Load()
	t := r.taken.Add(1)
	if t <= r.n && t != r.mark && younger(r.at, c.maxAge) {
		return r.id(t), nil
	}
	return c.next(ctx, r, t)
}

// next goes on with the t-th claim of r, which is one too many, or the one to fetch more at, or may
// be too old.
func (c *Client) next(ctx context.Context, r *run, t int64) (int64, error) {
	if t <= r.n && younger(r.at, c.maxAge) {
		if t == r.mark {
			c.mu.Lock()
			c.runLow()
			c.mu.Unlock()
		}
		return r.id(t), nil
	}
	w := c.newWaiter(nil, 1)
	defer c.free(w)
	if err := c.gather(ctx, w); err != nil {
		return 0, err
	}
	return w.runs[0].First, nil
}

// gather has w gather all that it needs, and returns when that is there, or an error.
func (c *Client) gather(ctx context.Context, w *waiter) error {
	for {
		c.mu.Lock()
		if c.closed {
			c.mu.Unlock()
			return ErrClosed
		}
		c.drain(w)
		if w.need > 0 {
			if ctx.Err() != nil {
				err := noID(ctx, c.lastErr)
				c.mu.Unlock()
				return err
			}
			w.sends, w.since = c.sends, time.Now()
			c.waiting.push(w)
			signal(c.wake)
			c.mu.Unlock()
			if err := c.wait(ctx, w); err != nil {
				return err
			}
		} else {
			c.mu.Unlock()
		}
		if !w.drop(c.maxAge) {
			return nil
		}
	}
}

// wait waits until w is served, or ctx ends.
func (c *Client) wait(ctx context.Context, w *waiter) error {
	select {
	case <-w.ready:
		return w.err
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !w.queued { // it was served just now
		<-w.ready
		return w.err
	}
	c.waiting.remove(w)
	return noID(ctx, c.lastErr)
}

// noID is the error for a context that has ended; last is what the last attempt to reach the daemon
// failed with, or nil.
func noID(ctx context.Context, last error) error {
	if last != nil {
		return fmt.Errorf("flakeward: no ID before the end of the context: %w; %w", ctx.Err(), last)
	}
	return fmt.Errorf("flakeward: no ID before the end of the context: %w", ctx.Err())
}

// All returns an iterator over new IDs without end, each as by Next. At an error it yields that,
// with an ID of 0, and ends.
func (c *Client) All(ctx context.Context) iter.Seq2[int64, error] { return c.IDs(ctx, math.MaxInt) }

// IDs returns an iterator over n new IDs, each as by Next. At an error it yields that, with an ID
// of 0, and ends.
func (c *Client) IDs(ctx context.Context, n int) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		for range n {
			if id, err := c.Next(ctx); !yield(id, err) || err != nil {
				return
			}
		}
	}
}
