package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
)

// kind says what a transaction is for, in errors and to tests.
type kind string

const (
	kindJoin    kind = "read the layout"
	kindHost    kind = "read the host's worker ID"
	kindTicket  kind = "take a ticket"
	kindCreate  kind = "create a claim"
	kindList    kind = "list the claims"
	kindOpening kind = "open a record"
	kindExtend  kind = "extend a grant"
	kindRelease kind = "release a worker ID"
	kindDelete  kind = "delete a claim"
)

// committer sends one transaction. All reads and writes of keys go through one,
// which is where tests lose requests and replies.
type committer func(ctx context.Context, k kind, cmps []clientv3.Cmp, then, otherwise []clientv3.Op) (*clientv3.TxnResponse, error)

func committerOf(kv clientv3.KV) committer {
	return func(ctx context.Context, _ kind, cmps []clientv3.Cmp, then, otherwise []clientv3.Op) (*clientv3.TxnResponse, error) {
		return kv.Txn(ctx).If(cmps...).Then(then...).Else(otherwise...).Commit()
	}
}

// txn sends a transaction once. An error leaves open whether it took place.
func (c *Coordinator) txn(ctx context.Context, k kind, cmps []clientv3.Cmp, then, otherwise []clientv3.Op) (*clientv3.TxnResponse, error) {
	var resp *clientv3.TxnResponse
	err := c.try(ctx, string(k), func(ctx context.Context) (err error) {
		resp, err = c.commit(ctx, k, cmps, then, otherwise)
		return err
	})
	return resp, err
}

// inCluster is txn in the tree of the cluster that was joined and in no other: it
// compares the layout record with what Join saw. A tree that was wiped is a
// *coord.ClusterError, now and ever after, though its keys and revisions start over
// and may be just those that cmps wants.
func (c *Coordinator) inCluster(ctx context.Context, j joined, k kind, cmps []clientv3.Cmp, then, otherwise []clientv3.Op) (*clientv3.TxnResponse, error) {
	if err := c.otherCluster(); err != nil {
		return nil, err
	}
	key := c.keys.layout()
	for {
		resp, err := c.txn(ctx, k,
			append([]clientv3.Cmp{clientv3.Compare(clientv3.Value(key), "=", j.record)}, cmps...), then,
			append(slices.Clip(otherwise), clientv3.OpGet(key)))
		if err != nil || resp.Succeeded {
			return resp, err
		}
		found := kvAt(resp, len(otherwise))
		if found != nil && string(found.Value) == j.record {
			return resp, nil // it was one of cmps that failed
		}
		if err := c.compare(j, found); err != nil {
			return nil, err
		}
		j.record = string(found.Value) // the same, but written in another way
	}
}

// compare judges a layout record that is not the one that Join saw.
func (c *Coordinator) compare(j joined, found *mvccpb.KeyValue) error {
	var now layout
	if found != nil {
		var err error
		if now, err = decodeLayout(found.Value); err != nil {
			c.log.Error("the layout record is damaged", "key", string(found.Key), "error", err)
		}
	}
	switch {
	case now.UUID != j.uuid:
		c.mu.Lock()
		c.other = &coord.ClusterError{Ours: j.uuid, Cluster: now.UUID}
		c.mu.Unlock()
		return c.otherCluster()
	case now.Layout != j.layout:
		return fmt.Errorf("%s: %w", c.name(), &coord.LayoutError{Ours: j.layout, Cluster: now.Layout})
	}
	return nil
}

// otherCluster returns the error that compare found, if it has found one.
func (c *Coordinator) otherCluster() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.other == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", c.name(), c.other)
}

// clock measures how long a request was waited for, which only its error tells.
var clock clockguard.System

// try bounds one request and says in its error what failed where.
func (c *Coordinator) try(ctx context.Context, what string, request func(context.Context) error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %s: not tried: %w", c.name(), what, ctx.Err())
	}
	bounded, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	bounded, refused := watchTries(bounded)
	start := clock.Now().Mono
	err := request(bounded)
	if errors.Is(err, rpctypes.ErrNoSpace) && c.makeRoom != nil {
		// The answer leaves open whether the request took place; each of ours
		// can be made twice.
		if err = c.makeRoom(bounded); err == nil {
			err = request(bounded)
		}
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.Canceled):
		return fmt.Errorf("%s: %s: %w", c.name(), what, ctx.Err())
	case bounded.Err() != nil:
		waited := c.timeout
		if ctx.Err() != nil { // the caller's was shorter
			waited = time.Duration(clock.Now().Mono - start).Round(10 * time.Millisecond)
		}
		why := bounded.Err()
		if *refused != nil {
			why = fmt.Errorf("%w; the last try: %w", why, *refused)
		}
		return fmt.Errorf("%s: %s: no answer within %v; is it running, reachable and is --coord right? (%w)", c.name(), what, waited, why)
	case errors.Is(err, rpctypes.ErrNoSpace):
		return fmt.Errorf("%s: %s: its space quota is used up; compact, defragment and disarm its alarm: %w", c.name(), what, err)
	case errors.Is(err, rpctypes.ErrPermissionDenied), errors.Is(err, rpctypes.ErrUserEmpty), errors.Is(err, rpctypes.ErrAuthFailed):
		return fmt.Errorf("%s: %s: refused; give a user and password that may read and write %s: %w", c.name(), what, c.keys.root, err)
	default:
		return fmt.Errorf("%s: %s: %w", c.name(), what, err)
	}
}

// kvAt returns the only key that the i-th operation of a transaction read, or nil.
func kvAt(resp *clientv3.TxnResponse, i int) *mvccpb.KeyValue {
	if kvs := kvsAt(resp, i); len(kvs) > 0 {
		return kvs[0]
	}
	return nil
}

// kvsAt returns the keys that the i-th operation of a transaction read.
func kvsAt(resp *clientv3.TxnResponse, i int) []*mvccpb.KeyValue {
	if i >= len(resp.Responses) {
		return nil
	}
	return resp.Responses[i].GetResponseRange().GetKvs()
}

// retryPause lies between the tries of a call that may not give up yet.
const retryPause = 50 * time.Millisecond

// pause waits for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	waiting, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-waiting.Done()
}

// turn is a lock that is waited for with a context.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

func (t turn) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	default:
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turn) give() { <-t }
