// Package await takes IDs for callers that wait, each in a goroutine of its own. Their requests
// wait in the same queue as those of the event loop. A caller whose context ends leaves it: nothing
// is taken for it any more, and what was taken is burnt and counted.
package await

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
)

// Source issues IDs; *issue.Issuer is one. Take never blocks.
type Source interface {
	Take(c *issue.Connection, tenant uint32, n int) (generator.Run, issue.Wait)
}

// Counter is told what becomes of requests. Its methods may be called from any goroutine.
type Counter interface {
	Waits(n int64)                   // that many more requests wait; below 0: fewer
	Issued(as form.Form, ids uint64) // IDs that a caller got, to be written so
	Burnt(ids uint64)                // IDs that were taken for a request which was given up
	Took(d time.Duration)            // how long a request took that got its IDs or was refused
}

// Taker takes IDs from a Source. Its methods may be called from any goroutine.
type Taker struct {
	source Source
	count  Counter
	clock  clockguard.Clock
	turns  *turns
	over   chan struct{} // closed by GiveUp

	mu      sync.Mutex
	changed chan struct{} // closed at the next change
	waiting int           // who look at it
}

// New makes a Taker whose waits are on the clock.
func New(source Source, clock clockguard.Clock, count Counter) *Taker {
	return &Taker{
		source: source, count: count, clock: clock, turns: newTurns(source, clock),
		over: make(chan struct{}), changed: make(chan struct{}),
	}
}

// ErrOver is the answer to requests that wait when the daemon has handed its lane over.
var ErrOver = errors.New("another daemon goes on in this one's place: connect again")

// GiveUp has requests that wait, now and from now on, refused with ErrOver. It is called once.
func (t *Taker) GiveUp() { close(t.over) }

// Wake has requests tried again that wait for a change at the source. It does not block.
func (t *Taker) Wake() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting > 0 {
		close(t.changed)
		t.changed = make(chan struct{})
	}
}

// Take takes n IDs, at least 1, for a new request of c, and appends them to room as runs. They are
// counted by the form that they will be written in. It takes all of them or none: the error is
// ctx's, or why the source refuses the request, such as an *issue.UnavailableError.
func (t *Taker) Take(ctx context.Context, c *issue.Connection, tenant uint32, n int, as form.Form, room []generator.Run) ([]generator.Run, error) {
	begun := t.clock.Now().Mono
	c.Begin()
	c.Singles = n == 1
	taken := 0
	var err error
	for taken < n {
		var run generator.Run
		if run, err = t.next(ctx, c, tenant, n-taken); err != nil {
			c.End()
			break
		}
		room = append(room, run)
		taken += run.N
	}
	if ctx.Err() == nil {
		t.count.Took(t.clock.Now().Mono.Sub(begun))
	} else if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		t.count.Burnt(uint64(taken))
		return nil, err
	}
	t.count.Issued(as, uint64(taken))
	return room, nil
}

// next takes a run, for which it waits.
func (t *Taker) next(ctx context.Context, c *issue.Connection, tenant uint32, n int) (generator.Run, error) {
	if err := ctx.Err(); err != nil {
		return generator.Run{}, err
	}
	run, wait := t.source.Take(c, tenant, n)
	if run.N > 0 || wait.Err != nil {
		return run, wait.Err
	}
	t.count.Waits(1)
	defer t.count.Waits(-1)
	for {
		changed := t.watch()
		run, wait = t.source.Take(c, tenant, n) // a change since the last time is not missed
		if run.N == 0 && wait.Err == nil {
			t.pause(ctx, c, changed, wait)
		}
		t.unwatch()
		if run.N > 0 || wait.Err != nil {
			return run, wait.Err
		}
		if err := ctx.Err(); err != nil {
			return generator.Run{}, err
		}
		select {
		case <-t.over:
			return generator.Run{}, ErrOver
		default:
		}
	}
}

func (t *Taker) watch() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting++
	return t.changed
}

func (t *Taker) unwatch() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting--
}

// vagueWait is how soon a request is tried again whose source does not say when.
const vagueWait = time.Millisecond

// pause waits as the source says, or until ctx ends.
func (t *Taker) pause(ctx context.Context, c *issue.Connection, changed <-chan struct{}, wait issue.Wait) {
	var named <-chan struct{}
	switch inTurn := wait.InTurn > 0 && t.turns.source != nil; {
	case inTurn:
		named = t.turns.wait(c, max(wait.For, 1))
		defer t.turns.leave(c)
		wait.For = wait.InTurn
	case !wait.Event:
		changed = nil
		wait.For = max(wait.For, vagueWait)
	}
	if wait.For > 0 {
		due, cancel := clockguard.WithTimeout(ctx, t.clock, wait.For)
		defer cancel()
		ctx = due
	}
	select {
	case <-named:
	case <-changed:
	case <-ctx.Done():
	case <-t.over:
	}
}
