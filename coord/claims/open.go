package claims

import (
	"bytes"
	"context"
	"errors"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/internal/mutex"
)

// errRaced means that a record or the cluster record changed between the making of a claim's node
// and its opening. Nothing was opened.
var errRaced = errors.New("the record was changed by another before it was opened")

// open opens the record of a node that owns its worker ID, and deletes the node if that fails.
// Where Request.Before forbids it, the node is another's to open: it stays.
func (cl claimant) open(ctx context.Context, n owned) (*held, error) {
	if err := cl.before(n.Worker); err != nil {
		return nil, err
	}
	h, err := cl.takeOver(ctx, n)
	switch {
	case err == nil:
		return h, nil
	case errors.Is(err, errRaced) && cl.before(coord.AnyWorker) != nil:
		// It may be the original that was faster, by this very node.
	default:
		cl.c.nodes.discard(ctx, n.Node)
	}
	return nil, err
}

// takeOver writes the opening. What it grants is decided on the record as it was read; the opening
// compares the record's version, so if it is stored, what was decided holds.
//
// The outcome of a try without an answer is found out by sending the very same
// write again: it is stored at most once, because it changes the version that it
// compares, and what it finds instead carries its nonce exactly if the earlier try
// was stored. An opening whose outcome stays unknown is never taken as stored.
//
// If the cluster record was changed meanwhile, the opening is void, stored or not.
func (cl claimant) takeOver(ctx context.Context, n owned) (*held, error) {
	c := cl.c
	opened := n.cluster.opening(n.record)
	opened.Holder, opened.Claim, opened.Nonce = coord.OpeningID(c.random.token(), n.cluster.epoch), n.Name, c.random.token()
	w := Write{
		Doing: doingOpen, Worker: n.Worker, Claim: n.Name, Host: c.identity.Host, Before: c.before(n.History),
		Record:  Entry{Value: encode(opened), Version: n.Record.Version},
		History: c.nextHistory(n.cluster, n.Worker, n.History, n.record, c.interval(opened, n.since)),
	}
	for {
		var done Written
		err := c.cluster.inCluster(ctx, func(j *cluster) (err error) {
			if j.record.Identity != n.cluster.record.Identity { // the version was read in another cluster record
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
			pause(ctx, c.clock, retryPause)
			continue
		case !done.Stored && !bytes.Equal(done.Record.Value, w.Record.Value):
			return nil, errRaced
		}
		h := &held{
			c: c, worker: n.Worker, before: cl.request.Before, epoch: n.cluster.epoch, opening: opened.Holder, floor: opened.Ceiling,
			mutex: mutex.New(), node: n.Node, identity: n.cluster.record.Identity, version: done.Record.Version, record: opened,
		}
		h.found(done.Claimed)
		return h, nil
	}
}
