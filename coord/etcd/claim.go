package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"

	clientv3 "go.etcd.io/etcd/client/v3"

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
//
// A single transaction that counts and claims would have to compare the counter
// with the value it was read at, and of a thousand that start together all but one
// would fail in each round. So it is two steps. The ticket is a blind put on the
// counter's key: its version rises by one with each, in the order that etcd
// applies them, and nothing is compared. The claim then names the worker ID that
// the ticket's number deals. A crash in between skips a number, which costs
// nothing: numbers only deal, they own nothing. Ownership is by create revision.
func (c *Coordinator) Claim(ctx context.Context, request coord.Request) (coord.Claim, error) {
	j, err := c.ready()
	if err != nil {
		return nil, err
	}
	if request.Predecessor != "" {
		if err := c.deletePredecessor(ctx, request.Predecessor); err != nil {
			return nil, err
		}
	}
	if !request.Fresh {
		claim, err := c.claimSticky(ctx, j, request)
		if claim != nil || err != nil {
			return claim, err
		}
	}
	for lost := 0; ; lost++ {
		claim, err := c.claimFresh(ctx, j, request, lost)
		if err == nil {
			return claim, nil
		}
		if !elsewhere(err) {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%s: others were faster %d times, last: %w; %w", c.name(), lost+1, err, ctx.Err())
		}
	}
}

// claimSticky tries the worker ID that is asked for and then the one that this
// host had last. It returns neither a claim nor an error if both are held or too
// far ahead.
func (c *Coordinator) claimSticky(ctx context.Context, j joined, request coord.Request) (coord.Claim, error) {
	tried := -1
	if request.Worker >= 0 && request.Worker < j.workers {
		tried = request.Worker
		claim, err := c.claimWorker(ctx, j, tried, sticky, request, true)
		if !elsewhere(err) {
			return orNil(claim), err
		}
	}
	worker, ok, err := c.hostsWorker(ctx)
	if err != nil || !ok || worker == tried || worker >= j.workers {
		return nil, err
	}
	claim, err := c.claimWorker(ctx, j, worker, sticky, request, true)
	if elsewhere(err) {
		return nil, nil
	}
	return orNil(claim), err
}

// orNil keeps a nil *held from becoming an interface that is not nil.
func orNil(h *held) coord.Claim {
	if h == nil {
		return nil
	}
	return h
}

// hostsWorker returns the worker ID that this host had last.
func (c *Coordinator) hostsWorker(ctx context.Context) (worker int, ok bool, err error) {
	if c.identity.Host == "" {
		return 0, false, nil
	}
	resp, err := c.txn(ctx, kindHost, nil, []clientv3.Op{clientv3.OpGet(c.keys.host(c.identity.Host))}, nil)
	if err != nil {
		return 0, false, err
	}
	kv := kvAt(resp, 0)
	if kv == nil {
		return 0, false, nil
	}
	n, err := strconv.ParseUint(string(kv.Value), 10, 31)
	if err != nil {
		c.log.Warn("the host's preference is damaged and is ignored", "key", string(kv.Key))
		return 0, false, nil
	}
	return int(n), true, nil
}

// claimFresh takes a ticket and tries the worker ID that it deals, then one that a
// listing shows as free. lost is how many such rounds were lost to others.
func (c *Coordinator) claimFresh(ctx context.Context, j joined, request coord.Request, lost int) (coord.Claim, error) {
	number, err := c.ticket(ctx, j)
	if err != nil {
		return nil, err
	}
	ticket := strconv.FormatUint(number, 10)
	dealt := int((number + j.offset) % uint64(j.workers))
	claim, err := c.claimWorker(ctx, j, dealt, ticket, request, true)
	if err == nil {
		return claim, nil
	}
	if !elsewhere(err) {
		return nil, err
	}
	free, err := c.free(ctx, j, dealt, request)
	if err != nil {
		return nil, err
	}
	// Whoever lists at the same time sees the same. The more often this claim
	// came too late, the more of them it chooses from.
	pick := free[rand.IntN(min(len(free), 1<<min(lost, 20)))]
	claim, err = c.claimWorker(ctx, j, pick.worker, ticket, request, pick.floor <= request.Latest)
	if err != nil {
		return nil, err
	}
	return claim, nil
}

// ticket returns how many tickets were taken before.
func (c *Coordinator) ticket(ctx context.Context, j joined) (uint64, error) {
	resp, err := c.inCluster(ctx, j, kindTicket, nil, []clientv3.Op{clientv3.OpPut(c.keys.seq(), "", clientv3.WithPrevKV())}, nil)
	if err != nil {
		return 0, err
	}
	if previous := resp.Responses[0].GetResponsePut().GetPrevKv(); previous != nil {
		return uint64(previous.GetVersion()), nil
	}
	return 0, nil
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
func (c *Coordinator) free(ctx context.Context, j joined, dealt int, request coord.Request) ([]candidate, error) {
	t, err := c.list(ctx, j)
	if err != nil {
		return nil, err
	}
	taken := maps.Clone(t.damaged)
	for worker, owner := range t.owners {
		if worker < j.workers && !c.isOrphan(owner.name) {
			taken[worker] = true
		}
	}
	var all []candidate
	for worker := range j.workers {
		if taken[worker] {
			continue
		}
		floor := t.records[worker].floorFor(request)
		all = append(all, candidate{worker, floor, (worker - dealt + j.workers) % j.workers})
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: %w", c.name(), &coord.ExhaustedError{Held: len(taken), Workers: j.workers})
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.floor, b.floor), cmp.Compare(a.distance, b.distance))
	})
	waiting := func(a candidate) bool { return a.floor > request.Latest }
	if request.Fresh && waiting(all[0]) {
		return nil, fmt.Errorf("%s: %w", c.name(), &coord.AheadError{Free: len(all), Lowest: all[0].floor, Latest: request.Latest})
	}
	if i := slices.IndexFunc(all, waiting); i >= 0 {
		return all[:max(i, 1)], nil
	}
	return all, nil
}

// continues is the test of invariant 6: whether what the caller has was the last
// to come from the record.
func (r record) continues(request coord.Request) bool {
	return request.Opening != "" && r.Holder == request.Opening && r.Mark <= request.Mark
}

// floorFor is the tick above which the caller would issue if it opened r.
func (r record) floorFor(request coord.Request) generator.Tick {
	if r.continues(request) {
		return request.Mark
	}
	return r.Ceiling
}
