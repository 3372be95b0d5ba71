package claims

import (
	"bytes"
	"context"
	"errors"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/internal/mutex"
)

// pending implements coord.Pending. What it decides is decided on the record as it was
// read when the claim node was made.
type pending struct {
	c         *Coordinator
	node      owned
	request   coord.Request
	continues bool
}

func (p *pending) Worker() int     { return p.node.Worker }
func (p *pending) Continues() bool { return p.continues }

// Open implements coord.Pending.
func (p *pending) Open(ctx context.Context) (coord.Claim, error) {
	h, err := p.open(ctx)
	if err != nil {
		p.c.nodes.discard(ctx, p.node.Node)
		return nil, err
	}
	return h, nil
}

// open takes the record over. Everything that depends on who the holder was is
// decided on the record as it was read, before the opening is sent; the opening
// compares the record's version, so if it is stored, what was decided holds.
//
// The outcome of a try without an answer is found out by sending the very same
// write again: it is stored at most once, because it changes the version that it
// compares, and what it finds instead carries its nonce exactly if the earlier try
// was stored. An opening whose outcome stays unknown is never taken as stored.
//
// If the cluster record was changed meanwhile, the opening is void, stored or not.
func (p *pending) open(ctx context.Context) (*held, error) {
	c, n, request, continues := p.c, p.node, p.request, p.continues
	o := n.cluster.opening(n.record, request, continues)
	opened := o.record
	opened.Holder, opened.Claim, opened.Nonce = coord.OpeningID(c.random.token(), n.cluster.epoch), n.Name, c.random.token()
	w := Write{
		Doing: doingOpen, Worker: n.Worker, Claim: n.Name, Host: c.identity.Host, Before: c.before(n.History),
		Record:  Entry{Value: encode(opened), Version: n.Record.Version},
		History: c.nextHistory(n.cluster, n.Worker, n.History, n.record, c.interval(opened, o.from, n.since)),
	}
	for {
		var done Written
		err := c.cluster.inCluster(ctx, func(j *cluster) (err error) {
			if j.record.Identity != n.cluster.record.Identity { // the version was read in another cluster record
				return coord.ErrRaced
			}
			done, err = c.store.Write(ctx, j.entry, w)
			return err
		})
		switch {
		case errors.Is(err, coord.ErrRaced):
			return nil, err
		case err != nil && (ctx.Err() != nil || !worthRetrying(err)):
			return nil, err
		case err != nil:
			pause(ctx, c.clock, retryPause)
			continue
		case !done.Stored && !bytes.Equal(done.Record.Value, w.Record.Value):
			return nil, coord.ErrRaced
		}
		h := &held{
			c: c, worker: n.Worker, before: request.Before, epoch: n.cluster.epoch, opening: opened.Holder,
			continues: continues, floor: opened.Ceiling, minimum: o.minimum,
			mutex: mutex.New(), node: n.Node, identity: n.cluster.record.Identity, version: done.Record.Version, record: opened,
		}
		h.found(done.Claimed)
		return h, nil
	}
}
