package claims

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/internal/turn"
)

// claimWorker makes a claim node that names the worker ID and, if that owns it,
// opens the record. It returns errTaken if another claim owns it, and errAhead, if
// strict, when the floor would be above request.Latest. Given Dealt, it says which
// worker ID it tried.
func (c *Coordinator) claimWorker(ctx context.Context, worker int, request coord.Request, strict bool) (*held, int, error) {
	for {
		n, err := c.createNode(ctx, worker, request)
		if err != nil {
			return nil, n.Worker, err
		}
		worker = n.Worker
		if strict && n.cluster.floorFor(n.record, request) > request.Latest {
			c.abandon(ctx, n.Node)
			return nil, worker, fmt.Errorf("worker ID %d: %w", worker, errAhead)
		}
		h, err := c.open(ctx, n, request)
		if errors.Is(err, errRaced) {
			// The record or the node changed under the opening: all that was
			// read is void, and the test of invariant 6 is made again.
			c.abandon(ctx, n.Node)
			continue
		}
		if err != nil {
			c.abandon(ctx, n.Node)
			return nil, worker, err
		}
		return h, worker, nil
	}
}

// owned is a claim node that owns its worker ID, with the record as it was then.
type owned struct {
	Created
	cluster *cluster // the layout record as it was then
	record  record
	since   int64 // as the node's value says
}

// createNode makes a claim node. If it does not own its worker ID it is deleted
// again, and the error is errTaken; the worker ID is told all the same.
func (c *Coordinator) createNode(ctx context.Context, worker int, request coord.Request) (owned, error) {
	value := member{
		Host: c.identity.Host, PID: c.identity.PID, Incarnation: c.identity.Incarnation, Version: c.identity.Version,
		Since: c.clock.Now().Wall / 1e6,
	}
	for {
		n := owned{Created: Created{Node: Node{Worker: worker}}, since: value.Since}
		err := c.inCluster(ctx, func(j *cluster) (err error) {
			n.cluster = j
			if request.Raised != nil {
				if err := request.Raised(j.raise()); err != nil {
					return err
				}
			}
			// Each try has a token of its own: the node of one that failed may exist.
			token := c.token()
			c.use(token)
			made, err := c.store.Create(ctx, j.entry, Claimant{
				Worker: worker, Token: token, Value: encode(value),
				Deal: func(number uint64) int { return c.deal(j, number) },
			})
			if err != nil { // the node may exist or come to exist
				c.orphan(token)
				return err
			}
			n.Created = made
			return nil
		})
		if err != nil {
			return n, err
		}
		worker = n.Worker
		orphans, err := c.first(&n)
		if err == nil && len(orphans) == 0 {
			return n, nil
		}
		c.abandon(ctx, n.Node)
		// Claims of our own that nothing uses are in the way, also if another's is too:
		// that may be such a one itself, and its maker finds ours before its next.
		for _, orphan := range orphans {
			if err := c.store.Delete(ctx, orphan.Name); err != nil {
				return n, err
			}
		}
		if err != nil {
			return n, err
		}
	}
}

// first says whether the node owns its worker ID: it is the first to have been
// created of those that name it. Orphans of our own that are before it are returned,
// whatever the error; another's claim is errTaken. It reads the record into n.
func (c *Coordinator) first(n *owned) (orphans []Node, err error) {
	for _, other := range n.Before {
		switch {
		case c.isOrphan(other):
			orphans = append(orphans, other)
		case err == nil:
			err = fmt.Errorf("worker ID %d is held by claim %s: %w", n.Worker, other.Name, errTaken)
		}
	}
	if err == nil && n.Record.Version != 0 {
		n.record, err = c.readRecord(n.Worker, n.Record)
	}
	return orphans, err
}

// errRaced means that an opening was not stored.
var errRaced = errors.New("the record was changed by another")

// open takes the record over. Everything that depends on who the holder was is
// decided on the record as it was read, before the opening is sent; the opening
// compares the record's version, so if it is stored, what was decided holds.
//
// The outcome of a try without an answer is found out by sending the very same
// write again: it is stored at most once, because it changes the version that it
// compares, and what it finds instead carries its nonce exactly if the earlier try
// was stored. An opening whose outcome stays unknown is never taken as stored.
//
// If the marks were raised meanwhile, the opening is void, stored or not.
func (c *Coordinator) open(ctx context.Context, n owned, request coord.Request) (*held, error) {
	continues := n.cluster.continues(n.record, request)
	if !continues && request.Drop != nil {
		request.Drop(n.Worker)
	}
	from := n.cluster.floorFor(n.record, request)
	if continues && request.From > 0 {
		from = min(from, request.From)
	}
	floor := n.cluster.ceiling(n.record)
	opened := n.record
	opened.Ceiling = floor // the record's, unless it was raised with all others
	opened.Holder, opened.Claim, opened.Nonce, opened.Era = coord.OpeningID(c.token(), n.cluster.era), n.Name, c.token(), n.cluster.era
	if !continues {
		opened.Mark = 0
	}
	w := Write{
		Doing: "open a record", Node: n.Node, Host: c.identity.Host, Lane: request.Lane,
		Record:  Entry{Value: encode(opened), Version: n.Record.Version},
		History: c.entered(n, opened.Holder, from),
	}
	for {
		var done Written
		err := c.inCluster(ctx, func(j *cluster) (err error) {
			if j.era != n.cluster.era {
				return errRaced
			}
			done, err = c.store.Write(ctx, j.entry, w)
			return err
		})
		switch {
		case errors.Is(err, errRaced):
			return nil, err
		case err != nil && (ctx.Err() != nil || !worthRetrying(err)):
			return nil, err
		case err != nil:
			c.pause(ctx, retryPause)
			continue
		case !done.Stored && !bytes.Equal(done.Record.Value, w.Record.Value):
			return nil, errRaced
		}
		return &held{
			c: c, node: n.Node, era: n.cluster.era, opening: opened.Holder,
			continues: continues, floor: floor, least: n.cluster.leastOf(n.record, continues),
			turn: turn.New(), version: done.Record.Version, record: opened,
		}, nil
	}
}
