package claims

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

// Inspect implements coord.Operator.
func (c *Coordinator) Inspect(ctx context.Context) (coord.Inspected, error) {
	if _, err := c.cluster.ready(); err != nil && !errors.Is(err, coord.ErrNotJoined) {
		return coord.Inspected{}, err
	}
	was := c.cluster.known()
	stored, err := c.store.Look(ctx)
	if err != nil {
		return coord.Inspected{}, err
	}
	if stored.Version == 0 {
		return coord.Inspected{}, fmt.Errorf("%s: %s: %w", c.store.Name(), c.store.Path(ClusterKey), coord.ErrNoCluster)
	}
	found, err := c.cluster.readLayout(stored)
	if err != nil {
		return coord.Inspected{}, err
	}
	j := c.cluster.clusterOf(found, stored)
	if err := c.cluster.enter(was, j); err != nil {
		return coord.Inspected{}, err
	}
	return found.inspected(), nil
}

// Create implements coord.Operator.
func (c *Coordinator) Create(ctx context.Context, want coord.NewCluster) (coord.Created, error) {
	ids, err := want.Range.Within(want.Workers)
	switch {
	case err != nil:
		return coord.Created{}, fmt.Errorf("%s: %w", c.store.Name(), err)
	case want.Text == "" || want.Workers < 1 || want.Workers > coord.MaxWorkers || want.Window < 0 || want.Floor < 0:
		return coord.Created{}, fmt.Errorf("%s: no cluster can be made with %+v", c.store.Name(), want)
	}
	id, err := uuid.NewRandomFromReader(c.random.from)
	if err != nil {
		return coord.Created{}, fmt.Errorf("%s: no UUID could be drawn for a new cluster: %w", c.store.Name(), err)
	}
	stored, err := c.store.Make(ctx, encode(layout{
		Layout: want.Text, UUID: id.String(), Workers: want.Workers, Window: want.Window, Identity: c.random.token(), Range: ids, Floor: want.Floor,
	}))
	if err != nil {
		return coord.Created{}, err
	}
	found, err := c.cluster.readLayout(stored)
	if err != nil {
		return coord.Created{}, err
	}
	return coord.Created{Inspected: found.inspected(), Made: found.UUID == id.String()}, nil
}

// Marks implements coord.Operator.
func (c *Coordinator) Marks(ctx context.Context) ([]coord.Mark, error) {
	t, err := c.list(ctx)
	if err != nil {
		return nil, err
	}
	known := maps.Clone(t.damaged)
	for worker := range t.records {
		known[worker] = true
	}
	marks := make([]coord.Mark, 0, len(known))
	for _, worker := range slices.Sorted(maps.Keys(known)) {
		r := t.records[worker]
		marks = append(marks, coord.Mark{
			Worker: worker, Ceiling: t.cluster.found(r).Ceiling, Issued: r.Issued,
			Holder: r.Holder, Claim: t.owners[worker].Name, Damaged: t.damaged[worker],
		})
	}
	return marks, nil
}

// Raise implements coord.Operator. It replaces the cluster record, which every
// request of everybody is fenced by: that is the one step.
func (c *Coordinator) Raise(ctx context.Context, to generator.Tick) (coord.Raised, error) {
	if to < 0 {
		return coord.Raised{}, fmt.Errorf("%s: marks cannot be raised to tick %d; use 0 or more", c.store.Name(), to)
	}
	t, err := c.list(ctx)
	if err != nil {
		return coord.Raised{}, err
	}
	var raised coord.Raised
	for _, r := range t.records {
		raised.Highest = max(raised.Highest, r.Ceiling)
	}
	err = c.change(ctx, func(next *layout) error {
		raised.From = next.Floor
		next.Floor, next.Epoch = max(next.Floor, to), next.Identity
		raised.To = next.Floor
		return nil
	})
	if err != nil {
		return coord.Raised{}, err
	}
	return raised, nil
}

// errUnchanged ends a change that has nothing to do.
var errUnchanged = errors.New("nothing is to be changed")

// change changes the cluster record, which has another identity then.
func (c *Coordinator) change(ctx context.Context, change func(next *layout) error) error {
	identity := c.random.token()
	err := c.cluster.inCluster(ctx, func(j *cluster) error {
		if j.record.Identity == identity {
			return nil // an earlier try was stored
		}
		next := j.record
		next.Identity = identity
		if err := change(&next); err != nil {
			return err
		}
		stored, err := c.store.Replace(ctx, j.entry, encode(next))
		if err != nil {
			return err
		}
		after := c.cluster.clusterOf(next, stored)
		after.daemon = j.daemon
		return c.cluster.enter(j, after)
	})
	if errors.Is(err, errUnchanged) {
		return nil
	}
	return err
}

// SetWindow implements coord.Operator.
func (c *Coordinator) SetWindow(ctx context.Context, window generator.Tick) error {
	if window < 1 {
		return fmt.Errorf("%s: a window of %d ticks; use 1 or more", c.store.Name(), window)
	}
	return c.change(ctx, func(next *layout) error {
		if next.Window == window {
			return errUnchanged
		}
		next.Longest = max(next.Longest, next.Window, window)
		next.Window = window
		return nil
	})
}

// TrustClock implements coord.Operator.
func (c *Coordinator) TrustClock(ctx context.Context, at generator.Tick) error {
	return c.change(ctx, func(next *layout) error {
		next.Trusted = at
		return nil
	})
}

// NewUUID implements coord.Operator. The cluster epoch is new as well: a write that was prepared in
// the original, and compares a cluster record, must not fit here.
func (c *Coordinator) NewUUID(ctx context.Context) (string, error) {
	id, err := uuid.NewRandomFromReader(c.random.from)
	if err != nil {
		return "", fmt.Errorf("%s: no UUID could be drawn: %w", c.store.Name(), err)
	}
	identity := c.random.token()
	err = c.cluster.inCluster(ctx, func(j *cluster) (err error) {
		next := j.record
		next.UUID, next.Identity, next.Epoch = id.String(), identity, identity
		_, err = c.store.Replace(ctx, j.entry, encode(next))
		return err
	})
	if other := (*coord.ClusterError)(nil); errors.As(err, &other) && other.Cluster == id.String() {
		err = nil // an earlier try of ours was stored, and found
	}
	if err != nil {
		return "", err
	}
	c.cluster.rename() // what was joined is no more: Inspect comes next
	return id.String(), nil
}

// Widen implements coord.Operator. The tick is written as the ceiling of each worker ID that is
// added, before the cluster record is changed: nobody can claim one until then.
func (c *Coordinator) Widen(ctx context.Context, to coord.WorkerRange, above generator.Tick) error {
	known := c.cluster.known()
	if known == nil {
		return fmt.Errorf("%s: %w", c.store.Name(), coord.ErrNotJoined)
	}
	check := func(next *layout) error {
		ids, err := to.Within(next.Workers)
		if err != nil {
			return fmt.Errorf("%s: %w", c.store.Name(), err)
		}
		if wanted, now := ids.Of(next.Workers), next.Range.Of(next.Workers); !wanted.Has(now.First) || !wanted.Has(now.Last()) {
			return fmt.Errorf("%s: %w", c.store.Name(), &coord.NarrowError{Wanted: wanted, Cluster: now})
		}
		next.Range = ids
		return nil
	}
	next := known.record
	if err := check(&next); err != nil {
		return err
	}
	if above > 0 {
		writers, writing := errgroup.WithContext(ctx)
		writers.SetLimit(together)
		for _, ids := range next.Range.Of(next.Workers).Without(known.ids()) {
			for worker := ids.First; worker <= ids.Last(); worker++ {
				writers.Go(func() error { return c.lift(writing, worker, above) })
			}
		}
		if err := writers.Wait(); err != nil {
			return err
		}
	}
	return c.change(ctx, check)
}

// lift writes a tick as the ceiling of a worker ID that nobody can hold. The record's holder is a
// new opening, which nobody has.
func (c *Coordinator) lift(ctx context.Context, worker int, to generator.Tick) error {
	return c.cluster.inCluster(ctx, func(j *cluster) error {
		stored, err := c.store.Read(ctx, j.entry, RecordOf(worker))
		if err != nil {
			return err
		}
		var r record
		if stored.Version != 0 {
			if r, err = readRecord(c.store, worker, stored); err != nil {
				return err
			}
		}
		if r.Ceiling >= to {
			return nil
		}
		r.Ceiling = to
		r.Holder, r.Claim, r.Nonce = coord.OpeningID(c.random.token(), j.epoch), "", c.random.token()
		written, err := c.store.Write(ctx, j.entry, Write{Doing: "add a worker ID", Worker: worker, Record: Entry{Value: encode(r), Version: stored.Version}})
		if err == nil && !written.Stored {
			err = fmt.Errorf("%s: worker ID %d: another writes its record: run it again", c.store.Name(), worker)
		}
		return err
	})
}

// Clear implements coord.Operator.
func (c *Coordinator) Clear(ctx context.Context, claim string) error {
	none := fmt.Errorf("%s: claim %q: %w", c.store.Name(), claim, coord.ErrNoClaim)
	var found []Node
	err := c.cluster.inCluster(ctx, func(j *cluster) (err error) {
		found, err = c.store.Claims(ctx, j.entry, false)
		return err
	})
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(found, func(n Node) bool { return n.Name == claim }) {
		return none
	}
	return c.store.Delete(ctx, claim)
}

// History implements coord.Operator.
func (c *Coordinator) History(ctx context.Context, worker int) ([]coord.HolderInterval, error) {
	if worker < 0 || worker >= coord.MaxWorkers {
		return nil, fmt.Errorf("%s: %d is no worker ID; use 0 to %d", c.store.Name(), worker, coord.MaxWorkers-1)
	}
	t, err := c.list(ctx)
	if err != nil {
		return nil, err
	}
	stored, err := c.read(ctx, HistoryOf(worker))
	if err != nil {
		return nil, err
	}
	var list []interval
	if stored.Version != 0 {
		if list, err = decodeHistory(stored.Value); err != nil {
			return nil, fmt.Errorf("%s: the history %s is damaged: %w; it begins anew with the next opening", c.store.Name(), c.store.Path(HistoryOf(worker)), err)
		}
	}
	// The next opening will say so too. It may have come since the listing.
	r := t.records[worker]
	newest := len(list) - 1
	if !t.damaged[worker] && (newest < 0 || list[newest].Opening == r.Holder) {
		list = t.cluster.lost(list, r)
	}
	intervals := make([]coord.HolderInterval, len(list))
	for i, e := range list {
		intervals[i] = e.shown()
	}
	return intervals, nil
}
