package claims

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/flakeward/flakeward/coord"
)

// Why a worker ID that was tried is not claimed.
var (
	errTaken = errors.New("another claim owns the worker ID")
	errAhead = errors.New("the worker ID's floor is later than asked for")
	errRange = errors.New("the cluster does not assign the worker ID")
)

// elsewhere reports whether err means that another worker ID is to be tried.
func elsewhere(err error) bool {
	return errors.Is(err, errTaken) || errors.Is(err, errAhead) || errors.Is(err, errRange) || errors.Is(err, errDamaged)
}

// Claim implements coord.Coordinator.
func (c *Coordinator) Claim(ctx context.Context, request coord.Request) (coord.Claim, error) {
	j, err := c.cluster.ready()
	if err != nil {
		return nil, err
	}
	if !j.daemon {
		return nil, fmt.Errorf("%s: inspected by an operator: %w", c.store.Name(), coord.ErrNotJoined)
	}
	cl := claimant{c, request, j.ids()}
	try := cl.assigned
	if request.Fresh || request.Look {
		try = cl.looking
	} else {
		claim, err := cl.sticky(ctx)
		if err != nil {
			return nil, err
		}
		if claim != nil {
			return claim, nil
		}
	}
	for lost := 0; ; lost++ {
		claim, err := try(ctx, lost)
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
	ids     coord.WorkerRange // that the cluster assigns
}

// sticky tries the worker ID that is asked for and then the one that this host had last. It returns
// neither a claim nor an error if both are held or too far ahead.
func (cl claimant) sticky(ctx context.Context) (*held, error) {
	request, tried := cl.request, -1
	if request.Worker >= 0 {
		tried = request.Worker
		claim, err := cl.worker(ctx, tried, true)
		if !elsewhere(err) {
			return claim, err
		}
	}
	worker, ok, err := cl.preferred(ctx)
	if err != nil || !ok || worker == tried {
		return nil, err
	}
	claim, err := cl.worker(ctx, worker, true)
	if elsewhere(err) {
		return nil, nil
	}
	return claim, err
}

// preferred returns the worker ID that this host had last.
func (cl claimant) preferred(ctx context.Context) (worker int, ok bool, err error) {
	c := cl.c
	if c.identity.Host == "" || c.cluster.isRenamed() {
		return 0, false, nil
	}
	stored, err := c.read(ctx, HostOf(c.identity.Host))
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

// assigned tries the worker ID that the next sequence number names, then one that a listing shows
// as free. lost is how many such rounds were lost to others.
func (cl claimant) assigned(ctx context.Context, lost int) (*held, error) {
	claim, err := cl.worker(ctx, bySequence, true)
	if !elsewhere(err) {
		return claim, err
	}
	found, err := cl.search(ctx, cl.somewhere(), choice(lost))
	if err != nil {
		return nil, err
	}
	return cl.choose(ctx, found)
}

// looking makes no node before a listing has shown that there is something to be had. Then it tries
// the sticky worker ID, unless a re-lease asks, the one that the next sequence number names, and
// one of those that the listing shows.
func (cl claimant) looking(ctx context.Context, lost int) (*held, error) {
	near, sticky, err := cl.near(ctx)
	if err != nil {
		return nil, err
	}
	found, err := cl.search(ctx, near, choice(lost))
	if err != nil {
		return nil, err
	}
	if sticky && found.nearest {
		claim, err := cl.worker(ctx, near, true)
		if !elsewhere(err) {
			return claim, err
		}
	}
	if found.early() {
		claim, err := cl.worker(ctx, bySequence, true)
		if !elsewhere(err) {
			return claim, err
		}
	}
	return cl.choose(ctx, found)
}

// near is where a search begins: at the sticky worker ID if there is one, and somewhere otherwise.
func (cl claimant) near(ctx context.Context) (worker int, sticky bool, err error) {
	worker, sticky = cl.request.Worker, !cl.request.Fresh
	if sticky && worker < 0 {
		worker, sticky, err = cl.preferred(ctx)
	}
	if err != nil {
		return 0, false, err
	}
	if sticky && cl.ids.Has(worker) {
		return worker, true, nil
	}
	return cl.somewhere(), false, nil
}

// somewhere is where a search begins that is for no worker ID in particular: claimants that search
// at once find different ones, and where most have no record it is soon over.
func (cl claimant) somewhere() int { return cl.ids.First + cl.c.random.pick(cl.ids.Count) }

// choice is among how many worker IDs a claim chooses: whoever lists at the same time sees the
// same, so the more often a claim came too late, the more of them.
func choice(lost int) int { return 1 << min(lost, 10) }

// choose tries one of the worker IDs that were found.
func (cl claimant) choose(ctx context.Context, found *search) (*held, error) {
	free := found.best
	if i := slices.IndexFunc(free, found.late); i >= 0 {
		free = free[:max(i, 1)]
	}
	pick := free[cl.c.random.pick(len(free))]
	return cl.worker(ctx, pick.worker, !found.late(pick))
}
