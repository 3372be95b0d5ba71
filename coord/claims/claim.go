package claims

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

// Why a worker ID that was tried is not claimed.
var (
	errTaken = errors.New("another claim owns the worker ID")
	errAhead = errors.New("the worker ID's floor is later than asked for")
)

// elsewhere reports whether err means that another worker ID is to be tried.
func elsewhere(err error) bool {
	return errors.Is(err, errTaken) || errors.Is(err, errAhead) || errors.Is(err, errDamaged)
}

// Claim implements coord.Coordinator.
func (c *Coordinator) Claim(ctx context.Context, request coord.Request) (coord.Pending, error) {
	j, err := c.ready()
	if err != nil {
		return nil, err
	}
	if !j.daemon {
		return nil, fmt.Errorf("%s: visited by an operator: %w", c.store.Name(), coord.ErrNotJoined)
	}
	for _, dead := range append([]string{request.Predecessor}, request.Dead...) {
		if dead == "" {
			continue
		}
		if err := c.deletePredecessor(ctx, dead); err != nil {
			return nil, err
		}
	}
	if !request.Fresh {
		claim, err := c.claimSticky(ctx, j.workers, request)
		if err != nil {
			return nil, err
		}
		if claim != nil {
			return claim, nil
		}
	}
	for lost := 0; ; lost++ {
		claim, err := c.claimFresh(ctx, request, lost)
		if err == nil {
			return claim, nil
		}
		if !elsewhere(err) {
			return nil, err
		}
		c.pause(ctx, retryPause<<min(lost, lostRounds))
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%s: others were faster %d times, last: %w; %w", c.store.Name(), lost+1, err, ctx.Err())
		}
	}
}

// claimSticky tries the worker ID that is asked for and then the one that this
// lane of this host had last. It returns neither a claim nor an error if both are held or too
// far ahead.
func (c *Coordinator) claimSticky(ctx context.Context, workers int, request coord.Request) (*pending, error) {
	tried := -1
	if request.Worker >= 0 && request.Worker < workers {
		tried = request.Worker
		claim, _, err := c.claimWorker(ctx, tried, request, true)
		if !elsewhere(err) {
			return claim, err
		}
	}
	worker, ok, err := c.hostsWorker(ctx, request.Lane)
	if err != nil || !ok || worker == tried || worker >= workers {
		return nil, err
	}
	claim, _, err := c.claimWorker(ctx, worker, request, true)
	if elsewhere(err) {
		return nil, nil
	}
	return claim, err
}

// hostsWorker returns the worker ID that this lane of this host had last.
func (c *Coordinator) hostsWorker(ctx context.Context, lane int) (worker int, ok bool, err error) {
	c.mu.Lock()
	copied := c.copied
	c.mu.Unlock()
	if c.identity.Host == "" || copied {
		return 0, false, nil
	}
	stored, err := c.store.Host(ctx, c.identity.Host, lane)
	if err != nil || stored.Version == 0 {
		return 0, false, err
	}
	worker, err = decodeHost(stored.Value)
	if err != nil {
		c.log.Warn("the host's preference is damaged and is ignored", "host", c.identity.Host, "error", err)
		return 0, false, nil
	}
	return worker, true, nil
}

// claimFresh tries the worker ID that a new node's number deals, then one that a
// listing shows as free. lost is how many such rounds were lost to others.
func (c *Coordinator) claimFresh(ctx context.Context, request coord.Request, lost int) (*pending, error) {
	claim, dealt, err := c.claimWorker(ctx, Dealt, request, true)
	if err == nil {
		return claim, nil
	}
	if !elsewhere(err) {
		return nil, err
	}
	free, err := c.free(ctx, dealt, request)
	if err != nil {
		return nil, err
	}
	// Whoever lists at the same time sees the same. The more often this claim
	// came too late, the more of them it chooses from.
	pick := free[c.pick(min(len(free), 1<<min(lost, 20)))]
	claim, _, err = c.claimWorker(ctx, pick.worker, request, pick.floor <= request.Latest)
	return claim, err
}

// candidate is a worker ID that no claim holds.
type candidate struct {
	worker   int
	floor    generator.Tick
	distance int // from the dealt worker ID, cyclically
}

// free lists the worker IDs without a claim, the lowest floor first and, among
// equals, the nearest after the dealt one. Those above request.Latest are listed
// only if there is no other, and to a re-lease not at all, which has a worker ID to
// wait with: that gets *coord.AheadError. With none at all it returns
// *coord.ExhaustedError.
func (c *Coordinator) free(ctx context.Context, dealt int, request coord.Request) ([]candidate, error) {
	t, err := c.list(ctx)
	if err != nil {
		return nil, err
	}
	workers := t.cluster.workers
	taken := maps.Clone(t.damaged)
	for worker, owner := range t.owners {
		if worker < workers && !c.isOrphan(owner) {
			taken[worker] = true
		}
	}
	var all []candidate
	for worker := range workers {
		if taken[worker] {
			continue
		}
		floor := t.cluster.floorFor(t.records[worker], request)
		all = append(all, candidate{worker, floor, (worker - dealt + workers) % workers})
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: %w", c.store.Name(), &coord.ExhaustedError{Held: len(taken), Workers: workers})
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.floor, b.floor), cmp.Compare(a.distance, b.distance))
	})
	waiting := func(a candidate) bool { return a.floor > request.Latest }
	if request.Fresh && waiting(all[0]) {
		return nil, fmt.Errorf("%s: %w", c.store.Name(), &coord.AheadError{Free: len(all), Lowest: all[0].floor, Latest: request.Latest})
	}
	if i := slices.IndexFunc(all, waiting); i >= 0 {
		return all[:max(i, 1)], nil
	}
	return all, nil
}

// continues is the test of invariant 6: whether what the caller has was the last
// to come from the record. What was opened before the marks were raised is void.
func (j *cluster) continues(r record, request coord.Request) bool {
	return request.Opening != "" && r.Holder == request.Opening && r.Era == j.era && r.Mark <= request.Mark
}

// ceiling is the record's as the next holder finds it.
func (j *cluster) ceiling(r record) generator.Tick { return max(r.Ceiling, j.floor) }

// floorFor is the tick above which the caller would issue if it opened r.
func (j *cluster) floorFor(r record, request coord.Request) generator.Tick {
	if j.continues(r, request) {
		return request.Mark
	}
	return j.ceiling(r)
}

// retryPause lies between the tries of a call that may not give up yet.
const retryPause = 50 * time.Millisecond

// lostRounds is how many lost rounds of a claim double the pause after them: a
// claimant that always comes too late makes a few requests each second.
const lostRounds = 4

// pause waits for d before a retry, or until ctx ends.
func (c *Coordinator) pause(ctx context.Context, d time.Duration) {
	if w, ok := c.clock.(clockguard.Waiter); ok {
		w.Pause(ctx, d, nil)
		return
	}
	// Not the clock's Sleep: one that is set by hand would stand still.
	waiting, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-waiting.Done()
}

// worthRetrying is false for errors that say that the request was refused.
func worthRetrying(err error) bool {
	var layout *coord.LayoutError
	var restored *coord.RestoredError
	return !errors.Is(err, coord.ErrOtherCluster) && !errors.Is(err, ErrRefused) && !errors.Is(err, coord.ErrClosed) &&
		!errors.As(err, &layout) && !errors.As(err, &restored)
}
