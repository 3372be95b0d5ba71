package claims

import (
	"context"
	"errors"
	"fmt"

	"github.com/flakeward/flakeward/coord"
)

// worker claims the worker ID and opens it. It returns errTaken if another claim owns it, and
// errAhead, if strict, when the floor would be above request.Latest.
func (cl claimant) worker(ctx context.Context, worker int, strict bool) (*held, error) {
	for {
		n, err := cl.createNode(ctx, worker)
		if err != nil {
			return nil, err
		}
		if strict && n.cluster.found(n.record).Ceiling > cl.request.Latest {
			cl.c.nodes.discard(ctx, n.Node)
			return nil, fmt.Errorf("worker ID %d: %w", n.Worker, errAhead)
		}
		h, err := cl.open(ctx, n)
		if !errors.Is(err, errRaced) {
			return h, err
		}
	}
}

// before asks the caller whether to go on: see coord.Request.Before.
func (cl claimant) before(worker int) error {
	if cl.request.Before == nil {
		return nil
	}
	return cl.request.Before(worker)
}

// owned is a claim node that owns its worker ID, with the record as it was then.
type owned struct {
	Created
	cluster *cluster // the cluster record as it was then
	record  record
	since   int64 // as the node's value says
}

// bySequence is the worker ID that the next sequence number names.
const bySequence = -1

// createNode makes a claim node. If it does not own its worker ID it is deleted
// again, and the error is errTaken; the worker ID is returned all the same.
func (cl claimant) createNode(ctx context.Context, worker int) (owned, error) {
	c := cl.c
	value := member{
		Host: c.identity.Host, PID: c.identity.PID, Incarnation: c.identity.Incarnation, Version: c.identity.Version, Boot: c.identity.Boot,
		Since: c.clock.Now().Wall / 1e6,
	}
	for {
		n := owned{Created: Created{Node: Node{Worker: worker}}, since: value.Since}
		err := c.cluster.inCluster(ctx, func(j *cluster) (err error) {
			n.cluster = j
			if err := cl.before(coord.AnyWorker); err != nil {
				return err
			}
			if worker == bySequence {
				number, err := c.store.Number(ctx, j.entry)
				if err != nil {
					return err
				}
				n.Worker = j.assign(number)
			}
			if !j.ids().Has(n.Worker) {
				return fmt.Errorf("worker ID %d of %v: %w", n.Worker, j.ids(), errRange)
			}
			// Each try has a token of its own: the node of one that failed may exist.
			token := c.random.token()
			c.nodes.use(token)
			made, err := c.store.Create(ctx, j.entry, Node{
				Name: nameOf(n.Worker, c.identity.Incarnation, token), Worker: n.Worker, Incarnation: c.identity.Incarnation, Token: token, Value: encode(value),
			})
			if err != nil { // the node may exist or come to exist
				c.nodes.unanswer(token)
				return err
			}
			n.Created = made
			return nil
		})
		if err != nil {
			return n, err
		}
		worker = n.Worker
		orphans, err := cl.first(&n)
		if err == nil && len(orphans) == 0 {
			return n, nil
		}
		c.nodes.discard(ctx, n.Node)
		// Claims of our own that nothing uses are in the way, also if another's is too:
		// that may be such a one itself, and its maker finds ours before its next.
		for _, orphan := range orphans {
			if err := cl.before(coord.AnyWorker); err != nil {
				return n, err
			}
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
func (cl claimant) first(n *owned) (orphans []Node, err error) {
	for _, other := range n.Before {
		switch {
		case cl.c.nodes.isOrphan(other):
			orphans = append(orphans, other)
		case err == nil:
			err = fmt.Errorf("worker ID %d is held by claim %s: %w", n.Worker, other.Name, errTaken)
		}
	}
	if err == nil && n.Record.Version != 0 {
		n.record, err = readRecord(cl.c.store, n.Worker, n.Record)
	}
	return orphans, err
}
