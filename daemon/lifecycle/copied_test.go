package lifecycle_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/daemon/lifecycle"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// A clone is noticed although nobody asks for an ID, within the time of one look.
func TestWatchEndsInACloneOfTheMachine(t *testing.T) {
	for _, cloned := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		var now atomic.Uint64
		clock := &hands{last: 3, end: func() {
			if cloned {
				now.Store(1)
			} else {
				cancel()
			}
		}}
		l, _ := newLifecycle(t, clock, nil)
		l.Machine = generator.Generation{Now: &now}
		err := l.Watch(ctx, lookless{})
		if errors.Is(err, grant.ErrCopied) != cloned || err != nil && !cloned {
			t.Errorf("cloned %v: %v", cloned, err)
		}
		if !slices.Equal(clock.slept, []time.Duration{lifecycle.WatchEvery, lifecycle.WatchEvery, lifecycle.WatchEvery}) {
			t.Errorf("cloned %v: looked after %v", cloned, clock.slept)
		}
		cancel()
	}
}

type lookless struct{}

func (lookless) Check()   {}
func (lookless) Changed() {}

// A clone leaves the session to its original; anybody else ends it.
func TestLeaveOfACloneClosesNothing(t *testing.T) {
	for _, cloned := range []bool{true, false} {
		o := &office{}
		l, _ := newLifecycle(t, &hands{}, func(context.Context) (coord.Coordinator, error) { return o, nil })
		var now atomic.Uint64
		l.Machine = generator.Generation{Now: &now}
		c := must.Get(l.Join(t.Context()))(t)
		if cloned {
			now.Store(1)
		}
		l.Leave(t.Context(), c)
		if (o.closed == 1) == cloned || o.closed > 1 {
			t.Errorf("cloned %v: closed %d times", cloned, o.closed)
		}
		now.Store(1)
		l.Leave(t.Context(), nil) // none was opened
	}
}
