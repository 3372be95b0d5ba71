package etcd

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/claims"
)

// kind says what a transaction is for, in errors and to tests.
type kind string

const (
	kindLook    kind = "look for the layout"
	kindMake    kind = "make the layout"
	kindReplace kind = "replace the layout"
	kindNumber  kind = "draw a sequence number"
	kindCreate  kind = "create a claim"
	kindClaims  kind = "list the claims"
	kindRecords kind = "list the records"
	kindDelete  kind = "delete a claim"
	kindGrant   kind = "grant a session"
	kindRenew   kind = "renew the session"
	kindEnd     kind = "end the session"
)

// transactions sends them, each once, and sees from the answers whether the servers were restored.
type transactions struct {
	client *client
	layout string // the key of the cluster record
	past   past
}

// commit sends a transaction. An error leaves open whether it took place.
func (t *transactions) commit(ctx context.Context, k kind, cmps []clientv3.Cmp, then, otherwise []clientv3.Op) (*clientv3.TxnResponse, error) {
	resp, restored, err := t.send(ctx, k, cmps, then, otherwise)
	if err == nil && restored != nil {
		err = fmt.Errorf("%s: %s: %w", t.client.name, k, restored)
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// inCluster is commit in the tree of the cluster that has the cluster record, and in no
// other: if that is another one, which it compares byte for byte, it does nothing and
// the error is *claims.MovedError. A tree that was made anew is another one, though
// its revisions start over and may be just those that cmps wants.
func (t *transactions) inCluster(ctx context.Context, layout claims.Entry, k kind, cmps []clientv3.Cmp, then, otherwise []clientv3.Op) (*clientv3.TxnResponse, error) {
	if t.past.restored() != nil {
		// Nothing more is written, but it may yet turn out to be another cluster.
		cmps, then, otherwise = nil, nil, nil
	}
	resp, restored, err := t.send(ctx, k,
		append([]clientv3.Cmp{clientv3.Compare(clientv3.Value(t.layout), "=", string(layout.Value))}, cmps...), then,
		append(slices.Clip(otherwise), clientv3.OpGet(t.layout)))
	if err != nil {
		return nil, err
	}
	if !resp.Succeeded {
		if found := kvAt(resp, len(otherwise)); found == nil || !bytes.Equal(found.Value, layout.Value) {
			return nil, &claims.MovedError{Found: entry(found), Restored: restored}
		}
	}
	if restored != nil {
		return nil, fmt.Errorf("%s: %s: %w", t.client.name, k, restored)
	}
	return resp, nil
}

// send sends a transaction once, and says whether its answer shows that the servers
// were restored, or an earlier one did.
func (t *transactions) send(ctx context.Context, k kind, cmps []clientv3.Cmp, then, otherwise []clientv3.Op) (*clientv3.TxnResponse, *coord.RestoredError, error) {
	var resp *clientv3.TxnResponse
	before := t.past.revision()
	err := t.client.try(ctx, k, func(ctx context.Context) (err error) {
		resp, err = t.client.library.Txn(ctx).If(cmps...).Then(then...).Else(otherwise...).Commit()
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if err := complete(resp, then, otherwise); err != nil {
		return nil, nil, fmt.Errorf("%s: %s: %w", t.client.name, k, err)
	}
	return resp, t.past.note(before, resp.Header), nil
}

// complete is an error if an answer lacks what its transaction asked for. No etcd answers so; what
// stands between may.
func complete(resp *clientv3.TxnResponse, then, otherwise []clientv3.Op) error {
	asked := otherwise
	if resp.Succeeded {
		asked = then
	}
	if resp.Header == nil || len(resp.Responses) != len(asked) {
		return fmt.Errorf("the answer is not etcd's: it tells of %d operations, and %d were asked for; does --coord name etcd's own servers?", len(resp.Responses), len(asked))
	}
	return nil
}

// kvAt returns the only key that the i-th operation of a transaction read, or nil.
func kvAt(resp *clientv3.TxnResponse, i int) *mvccpb.KeyValue {
	if kvs := kvsAt(resp, i); len(kvs) > 0 {
		return kvs[0]
	}
	return nil
}

// kvsAt returns the keys that the i-th operation of a transaction read; none without an answer.
func kvsAt(resp *clientv3.TxnResponse, i int) []*mvccpb.KeyValue {
	if resp == nil || i >= len(resp.Responses) {
		return nil
	}
	return resp.Responses[i].GetResponseRange().GetKvs()
}
