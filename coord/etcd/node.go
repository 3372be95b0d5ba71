package etcd

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

// claimWorker makes a claim node that names the worker ID and, if that owns it,
// opens the record. It returns errTaken if another claim owns it, and errAhead, if
// strict, when the floor would be above request.Latest.
func (c *Coordinator) claimWorker(ctx context.Context, j joined, worker int, ticket string, request coord.Request, strict bool) (*held, error) {
	for {
		n, err := c.createNode(ctx, j, worker, ticket)
		if err != nil {
			return nil, err
		}
		if strict && n.record.floorFor(request) > request.Latest {
			c.abandon(ctx, n.name)
			return nil, fmt.Errorf("worker ID %d: %w", worker, errAhead)
		}
		h, err := c.open(ctx, j, n, request)
		if errors.Is(err, errRaced) {
			// The record or the node changed under the opening: all that was
			// read is void, and the test of invariant 6 is made again.
			c.abandon(ctx, n.name)
			continue
		}
		if err != nil {
			c.abandon(ctx, n.name)
			return nil, err
		}
		return h, nil
	}
}

// owned is a claim node that owns its worker ID, with the record as it was then.
type owned struct {
	worker  int
	name    string
	created int64 // the node's create revision
	record  record
	version int64 // the record's modification revision; 0 if there is none
}

// createNode makes a claim node. If it does not own its worker ID it is deleted
// again, and the error is errTaken.
func (c *Coordinator) createNode(ctx context.Context, j joined, worker int, ticket string) (owned, error) {
	for {
		s, err := c.session(ctx)
		if err != nil {
			return owned{}, err
		}
		name := nodeName{worker: worker, ticket: ticket, incarnation: c.identity.Incarnation, nonce: token()}.String()
		c.use(name)
		resp, err := c.sendNode(ctx, j, s.id, worker, name)
		if errors.Is(err, rpctypes.ErrLeaseNotFound) {
			c.unuse(name)
			c.retire(s)
			continue
		}
		if err != nil { // the node may exist or come to exist
			c.orphan(name)
			return owned{}, err
		}
		n, orphans, err := c.judge(resp, worker, name)
		if err == nil && len(orphans) == 0 {
			return n, nil
		}
		c.abandon(ctx, name)
		if err != nil {
			return owned{}, err
		}
		// Claims of our own that nothing uses are in the way.
		for _, orphan := range orphans {
			if err := c.deleteNode(ctx, orphan); err != nil {
				return owned{}, err
			}
		}
	}
}

// sendNode creates a claim node under the lease and reads, in the same
// transaction, all claims on its worker ID and the record.
func (c *Coordinator) sendNode(ctx context.Context, j joined, lease clientv3.LeaseID, worker int, name string) (*clientv3.TxnResponse, error) {
	key := c.keys.claim(name)
	look := []clientv3.Op{
		clientv3.OpGet(c.keys.claimsOn(worker), clientv3.WithPrefix(), clientv3.WithKeysOnly()),
		clientv3.OpGet(c.keys.record(worker)),
	}
	put := clientv3.OpPut(key, encode(member(c.identity)), clientv3.WithLease(lease))
	// The name is one of a kind: if it exists, this very request was sent twice.
	return c.inCluster(ctx, j, kindCreate,
		[]clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(key), "=", 0)},
		append([]clientv3.Op{put}, look...), append([]clientv3.Op{clientv3.OpGet(key)}, look...))
}

// judge says whether the node owns its worker ID: it is the first to have been
// created of those that name it. If only orphans of our own are before it, they
// are returned; another's claim is errTaken.
func (c *Coordinator) judge(resp *clientv3.TxnResponse, worker int, name string) (n owned, orphans []string, err error) {
	n = owned{worker: worker, name: name}
	nodes := kvsAt(resp, 1)
	for _, kv := range nodes {
		if c.keys.nameOf(string(kv.Key)) == name {
			n.created = kv.CreateRevision
		}
	}
	for _, kv := range nodes {
		other := c.keys.nameOf(string(kv.Key))
		if _, ok := parseName(other); !ok || kv.CreateRevision >= n.created {
			continue
		}
		if !c.isOrphan(other) {
			return owned{}, nil, fmt.Errorf("worker ID %d is held by claim %s: %w", worker, other, errTaken)
		}
		orphans = append(orphans, other)
	}
	if kv := kvAt(resp, 2); kv != nil {
		n.version = kv.ModRevision
		n.record, err = c.decodeRecord(kv)
	}
	return n, orphans, err
}

// errRaced means that an opening was not stored.
var errRaced = errors.New("the record was changed by another")

// open takes the record over. Everything that depends on who the holder was is
// decided on the record as it was read, before the opening is sent; the opening
// compares the record's version, so if it is stored, what was decided holds.
//
// The outcome of a try without an answer is found out by sending the very same
// transaction again: it is stored at most once, because it changes the version
// that it compares, and what it finds instead carries its nonce exactly if the
// earlier try was stored. An opening whose outcome stays unknown is never taken as
// stored.
func (c *Coordinator) open(ctx context.Context, j joined, n owned, request coord.Request) (*held, error) {
	continues := n.record.continues(request)
	if !continues && request.Drop != nil {
		request.Drop(n.worker)
	}
	opened := n.record // the ceiling stays as it is
	opened.Holder, opened.Claim, opened.Nonce = token(), n.name, token()
	if !continues {
		opened.Mark = 0
	}
	value := encode(opened)
	then := []clientv3.Op{clientv3.OpPut(c.keys.record(n.worker), value)}
	if c.identity.Host != "" {
		then = append(then, clientv3.OpPut(c.keys.host(c.identity.Host), fmt.Sprint(n.worker)))
	}
	for {
		resp, err := c.inCluster(ctx, j, kindOpening, c.fence(n.worker, n.name, n.created, n.version), then, c.look(n.worker, n.name))
		if err != nil {
			if ctx.Err() != nil || !worthRetrying(err) {
				return nil, err
			}
			pause(ctx, retryPause)
			continue
		}
		version := resp.Header.Revision
		if !resp.Succeeded {
			found := kvAt(resp, 1)
			if found == nil || string(found.Value) != value {
				return nil, errRaced
			}
			version = found.ModRevision
		}
		return &held{
			c: c, joined: j, worker: n.worker, name: n.name, created: n.created, opening: opened.Holder,
			continues: continues, floor: n.record.Ceiling, least: leastOf(n.record, continues),
			turn: newTurn(), version: version, record: opened,
		}, nil
	}
}

// leastOf is what a release never goes below: the ceiling of the grants before
// this claim's, unless those were the caller's own; then what it published.
func leastOf(found record, continues bool) generator.Tick {
	if continues {
		return found.Issued
	}
	return found.Ceiling
}

// worthRetrying is false for errors that say that the request was refused.
func worthRetrying(err error) bool {
	var layout *coord.LayoutError
	return !errors.Is(err, coord.ErrOtherCluster) && !errors.As(err, &layout) && !errors.Is(err, rpctypes.ErrPermissionDenied) && !errors.Is(err, rpctypes.ErrUserEmpty) &&
		!errors.Is(err, rpctypes.ErrAuthFailed)
}

// fence is what every write of a record compares: the writer's claim node is the
// one it made, and the record is as the writer saw it last.
func (c *Coordinator) fence(worker int, name string, created, version int64) []clientv3.Cmp {
	return []clientv3.Cmp{
		clientv3.Compare(clientv3.CreateRevision(c.keys.claim(name)), "=", created),
		clientv3.Compare(clientv3.ModRevision(c.keys.record(worker)), "=", version),
	}
}

// look reads what the fence compares.
func (c *Coordinator) look(worker int, name string) []clientv3.Op {
	return []clientv3.Op{clientv3.OpGet(c.keys.claim(name)), clientv3.OpGet(c.keys.record(worker))}
}
