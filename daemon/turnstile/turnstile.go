// Package turnstile lets goroutines pass one after the other, and others run after each, so that
// many which come at once hold up nobody else. A user waits with one of them at a time: who has few
// waits for one of each user who has many.
package turnstile

import (
	"context"
	"hash/maphash"
	"runtime"
)

// Turnstile is made by New. Users are told apart by one of its queues, which a few may share.
type Turnstile struct {
	seed   maphash.Seed
	queues [64]chan struct{} // each holds one while somebody who came by it waits or passes
	turn   chan struct{}     // holds one while somebody passes
}

// New makes a turnstile that nobody passes.
func New() *Turnstile {
	t := &Turnstile{seed: maphash.MakeSeed(), turn: make(chan struct{}, 1)}
	for i := range t.queues {
		t.queues[i] = make(chan struct{}, 1)
	}
	return t
}

// Enter returns when it is the caller's turn: those of a user come in the order in which they
// asked. The turn ends with leave, which is nil if ctx ends before. user must be comparable.
func (t *Turnstile) Enter(ctx context.Context, user any) (leave func()) {
	queue := t.queues[maphash.Comparable(t.seed, user)%uint64(len(t.queues))]
	select {
	case queue <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	select {
	case t.turn <- struct{}{}:
		return func() {
			<-t.turn
			<-queue
		}
	case <-ctx.Done():
		<-queue
		return nil
	}
}

// Pass returns true after the caller's turn, or false if ctx ends before that.
func (t *Turnstile) Pass(ctx context.Context, user any) bool {
	leave := t.Enter(ctx, user)
	if leave == nil {
		return false
	}
	runtime.Gosched()
	leave()
	return true
}
