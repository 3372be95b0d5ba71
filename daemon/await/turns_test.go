package await

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
)

// rationed is a source with one ID in each Deal, for whoever has waited longest.
type rationed struct {
	again time.Duration
	asked chan struct{} // gets one for each Take in vain
	tries atomic.Int64

	mu      sync.Mutex
	waiting []*issue.Connection
	may     *issue.Connection
}

func (r *rationed) Take(c *issue.Connection, _ uint32, _ int) (generator.Run, issue.Wait) {
	r.tries.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.may == c {
		r.may = nil
		return generator.Run{N: 1}, issue.Wait{}
	}
	for _, waits := range r.waiting {
		if waits == c {
			return generator.Run{}, issue.Wait{For: r.again, InTurn: time.Hour}
		}
	}
	r.waiting = append(r.waiting, c)
	r.asked <- struct{}{}
	return generator.Run{}, issue.Wait{For: r.again, InTurn: time.Hour}
}

func (r *rationed) Deal(named func(*issue.Connection)) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.may == nil && len(r.waiting) > 0 {
		r.may, r.waiting = r.waiting[0], r.waiting[1:]
	}
	if r.may == nil {
		return 0
	}
	named(r.may)
	return r.again
}

func rationedTaker(t *testing.T, again time.Duration) (*rationed, *Taker) {
	r := &rationed{again: again, asked: make(chan struct{}, 1<<10)}
	taker := New(r, clockguard.System{}, &counts{})
	return r, taker
}

func TestOfManyInTurnOnlyThoseTryAgainWhoAreNamed(t *testing.T) {
	r, taker := rationedTaker(t, 100*time.Microsecond)
	const callers = 300
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			if _, err := taker.Take(t.Context(), &issue.Connection{}, 0, 1, form.Integer, nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if tries := r.tries.Load(); tries > 5*callers {
		t.Errorf("%d tries for %d IDs", tries, callers)
	}
	if n := len(taker.turns.waiting); n != 0 {
		t.Errorf("%d wait still", n)
	}
}

func TestWhoGoesInTurnLeavesNothing(t *testing.T) {
	r, taker := rationedTaker(t, time.Hour)
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := taker.Take(ctx, &issue.Connection{}, 0, 1, form.Integer, nil)
		ended <- err
	}()
	<-r.asked
	leave()
	if err := <-ended; err == nil {
		t.Error("who has gone got something")
	}
	if n := len(taker.turns.waiting); n != 0 {
		t.Errorf("%d wait still", n)
	}
}

// A request that may be served soon does not wait for what another is dealt later.
func TestWhoIsServedSoonerIsDealtSooner(t *testing.T) {
	r, taker := rationedTaker(t, time.Hour)
	first, end := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { _, _ = taker.Take(first, &issue.Connection{}, 0, 1, form.Integer, nil) })
	<-r.asked
	r.mu.Lock()
	r.again = time.Millisecond
	r.waiting = nil // it gets nothing for an hour
	r.mu.Unlock()
	soon, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := taker.Take(soon, &issue.Connection{}, 0, 1, form.Integer, nil); err != nil {
		t.Error(err)
	}
	end()
	all.Wait()
}
