// Package mutex is a lock that is waited for with a context.
package mutex

import "context"

// Mutex is held by one at a time. Make it with New.
type Mutex chan struct{}

// New returns a mutex that nobody holds.
func New() Mutex { return make(Mutex, 1) }

// LockContext waits until nobody else holds the mutex, or returns ctx's error. A mutex that
// is free is locked also if ctx has ended.
func (m Mutex) LockContext(ctx context.Context) error {
	select {
	case m <- struct{}{}:
		return nil
	default:
	}
	select {
	case m <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Lock waits for the mutex however long it takes.
func (m Mutex) Lock() { m <- struct{}{} }

// Unlock ends what LockContext or Lock began.
func (m Mutex) Unlock() { <-m }
