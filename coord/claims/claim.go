package claims

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

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
	j, err := c.cluster.ready()
	if err != nil {
		return nil, err
	}
	if !j.daemon {
		return nil, fmt.Errorf("%s: inspected by an operator: %w", c.store.Name(), coord.ErrNotJoined)
	}
	cl := claimant{c, request}
	for _, dead := range append([]string{request.Predecessor}, request.Dead...) {
		if dead == "" {
			continue
		}
		if err := c.nodes.deletePredecessor(ctx, dead); err != nil {
			return nil, err
		}
	}
	if !request.Fresh {
		claim, err := cl.sticky(ctx, j.workers)
		if err != nil {
			return nil, err
		}
		if claim != nil {
			return claim, nil
		}
	}
	for lost := 0; ; lost++ {
		claim, err := cl.fresh(ctx, lost)
		if err == nil {
			return claim, nil
		}
		if !elsewhere(err) {
			return nil, err
		}
		pause(ctx, c.clock, retryPause<<min(lost, lostRounds))
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%s: others were faster %d times, last: %w; %w", c.store.Name(), lost+1, err, ctx.Err())
		}
	}
}

// claimant makes one claim.
type claimant struct {
	c       *Coordinator
	request coord.Request
}

// sticky tries the worker ID that is asked for and then the one that this
// lane of this host had last. It returns neither a claim nor an error if both are held or too
// far ahead.
func (cl claimant) sticky(ctx context.Context, workers int) (*pending, error) {
	request, tried := cl.request, -1
	if request.Worker >= 0 && request.Worker < workers {
		tried = request.Worker
		claim, _, err := cl.worker(ctx, tried, true)
		if !elsewhere(err) {
			return claim, err
		}
	}
	worker, ok, err := cl.preferred(ctx)
	if err != nil || !ok || worker == tried || worker >= workers {
		return nil, err
	}
	claim, _, err := cl.worker(ctx, worker, true)
	if elsewhere(err) {
		return nil, nil
	}
	return claim, err
}

// preferred returns the worker ID that this lane of this host had last.
func (cl claimant) preferred(ctx context.Context) (worker int, ok bool, err error) {
	c := cl.c
	if c.identity.Host == "" || c.cluster.isRenamed() {
		return 0, false, nil
	}
	stored, err := c.store.Host(ctx, c.identity.Host, cl.request.Lane)
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

// fresh tries the worker ID that a new node's number assigns, then one that a
// listing shows as free. lost is how many such rounds were lost to others.
func (cl claimant) fresh(ctx context.Context, lost int) (*pending, error) {
	claim, assigned, err := cl.worker(ctx, BySequence, true)
	if err == nil {
		return claim, nil
	}
	if !elsewhere(err) {
		return nil, err
	}
	free, err := cl.free(ctx, assigned)
	if err != nil {
		return nil, err
	}
	// Whoever lists at the same time sees the same. The more often this claim
	// came too late, the more of them it chooses from.
	pick := free[cl.c.random.pick(min(len(free), 1<<min(lost, 20)))]
	claim, _, err = cl.worker(ctx, pick.worker, pick.floor <= cl.request.Latest)
	return claim, err
}

// candidate is a worker ID that no claim holds.
type candidate struct {
	worker   int
	floor    generator.Tick
	distance int // from the assigned worker ID, cyclically
}

// free lists the worker IDs without a claim, the lowest floor first and, among
// equals, the nearest after the assigned one. Those above request.Latest are listed
// only if there is no other, and to a re-lease not at all, which has a worker ID to
// wait with: that gets *coord.AheadError. With none at all it returns
// *coord.ExhaustedError.
func (cl claimant) free(ctx context.Context, assigned int) ([]candidate, error) {
	c, request := cl.c, cl.request
	t, err := c.list(ctx)
	if err != nil {
		return nil, err
	}
	workers := t.cluster.workers
	taken := maps.Clone(t.damaged)
	for worker, owner := range t.owners {
		if worker < workers && !c.nodes.isOrphan(owner) {
			taken[worker] = true
		}
	}
	var all []candidate
	for worker := range workers {
		if taken[worker] {
			continue
		}
		floor := t.cluster.floorFor(t.records[worker], request)
		all = append(all, candidate{worker, floor, (worker - assigned + workers) % workers})
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
