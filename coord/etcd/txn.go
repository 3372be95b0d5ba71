package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
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

// try bounds one request and says in its error what failed where.
func (c *Coordinator) try(ctx context.Context, what string, request func(context.Context) error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %s: not tried: %w", c.name(), what, ctx.Err())
	}
	bounded, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
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
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %s: %w", c.name(), what, ctx.Err())
	case bounded.Err() != nil:
		return fmt.Errorf("%s: %s: no answer within %v; is it running, reachable and with a leader? (%w)", c.name(), what, c.timeout, err)
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
