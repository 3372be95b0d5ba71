// Package turn is a lock that is waited for with a context.
package turn

import "context"

// Turn is held by one at a time. Make it with New.
type Turn chan struct{}

// New returns a turn that nobody holds.
func New() Turn { return make(Turn, 1) }

// Take waits until nobody else holds the turn, or returns ctx's error. A turn that
// is free is taken also if ctx has ended.
func (t Turn) Take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	default:
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Await waits for the turn however long it takes.
func (t Turn) Await() { t <- struct{}{} }

// Give ends what Take or Await began.
func (t Turn) Give() { <-t }
