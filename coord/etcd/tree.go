package etcd

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/claims"
)

// entry is the value of a key with its modification revision.
func entry(kv *mvccpb.KeyValue) claims.Entry {
	if kv == nil {
		return claims.Entry{}
	}
	return claims.Entry{Value: kv.Value, Version: kv.ModRevision}
}

// Look implements claims.Store.
func (s *store) Look(ctx context.Context) (claims.Entry, error) {
	if err := s.sessions.connect(ctx); err != nil {
		return claims.Entry{}, err
	}
	resp, err := s.txns.commit(ctx, kindLook, nil, []clientv3.Op{clientv3.OpGet(s.keys.layout())}, nil)
	return entry(kvAt(resp, 0)), err
}

// LookAnew implements claims.Store. Etcd answers whoever asks, whatever that has seen.
func (s *store) LookAnew(ctx context.Context) (claims.Entry, error) {
	if err := s.sessions.connect(ctx); err != nil {
		return claims.Entry{}, err
	}
	resp, _, err := s.txns.send(ctx, kindLook, nil, []clientv3.Op{clientv3.OpGet(s.keys.layout())}, nil)
	return entry(kvAt(resp, 0)), err
}

// Make implements claims.Store.
func (s *store) Make(ctx context.Context, layout []byte) (claims.Entry, error) {
	if err := s.sessions.connect(ctx); err != nil {
		return claims.Entry{}, err
	}
	key := s.keys.layout()
	resp, err := s.txns.commit(ctx, kindMake,
		[]clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(key), "=", 0)},
		[]clientv3.Op{clientv3.OpPut(key, string(layout))},
		[]clientv3.Op{clientv3.OpGet(key)})
	if err != nil {
		return claims.Entry{}, err
	}
	if resp.Succeeded {
		return claims.Entry{Value: layout, Version: resp.Header.Revision}, nil
	}
	kv := kvAt(resp, 0)
	if kv == nil {
		return claims.Entry{}, fmt.Errorf("%s: the layout record %s vanished while it was read; try again", s.Name(), key)
	}
	return entry(kv), nil
}

// Replace implements claims.Store.
func (s *store) Replace(ctx context.Context, layout claims.Entry, value []byte) (claims.Entry, error) {
	resp, err := s.txns.inCluster(ctx, layout, kindReplace, nil, []clientv3.Op{clientv3.OpPut(s.keys.layout(), string(value))}, nil)
	if err != nil {
		return claims.Entry{}, err
	}
	return claims.Entry{Value: value, Version: resp.Header.Revision}, nil
}

// Create implements claims.Store.
//
// A single transaction that counts and claims would have to compare the counter
// with the value it was read at, and of a thousand that start together all but one
// would fail in each round. So it is two steps. A number is drawn by a blind put on
// the counter's key: its version rises by one with each, in the order that etcd
// applies them, and nothing is compared. The claim then names the worker ID that
// the number assigns. A crash in between skips a number, which costs
// nothing: numbers only assign, they own nothing. Ownership is by create revision.
func (s *store) Create(ctx context.Context, layout claims.Entry, claim claims.Claimant) (claims.Created, error) {
	name := nodeName{worker: claim.Worker, number: sticky, incarnation: s.incarnation, nonce: claim.Token}
	if claim.Worker == claims.BySequence {
		number, err := s.number(ctx, layout)
		if err != nil {
			return claims.Created{}, err
		}
		name.worker, name.number = claim.Assign(number), strconv.FormatUint(number, 10)
	}
	for {
		session, err := s.sessions.get(ctx)
		if err != nil {
			return claims.Created{}, err
		}
		resp, err := s.put(ctx, layout, session.id, name, claim.Value)
		if errors.Is(err, rpctypes.ErrLeaseNotFound) {
			s.sessions.retire(session)
			continue
		}
		if err != nil {
			var restored *coord.RestoredError
			if errors.As(err, &restored) {
				// It may have been made before that was found out, and nobody
				// looks for orphans any more.
				_ = s.Delete(ctx, name.String()) // answers the same
			}
			return claims.Created{}, err
		}
		return s.created(resp, name), nil
	}
}

// number draws a sequence number: how many were drawn before.
func (s *store) number(ctx context.Context, layout claims.Entry) (uint64, error) {
	resp, err := s.txns.inCluster(ctx, layout, kindNumber, nil, []clientv3.Op{clientv3.OpPut(s.keys.seq(), "", clientv3.WithPrevKV())}, nil)
	if err != nil {
		return 0, err
	}
	return drawn(resp), nil
}

// drawn is the sequence number that an answer is about.
func drawn(resp *clientv3.TxnResponse) uint64 {
	return uint64(resp.Responses[0].GetResponsePut().GetPrevKv().GetVersion())
}

// put creates a claim node under the lease and reads, in the same transaction, all
// claims on its worker ID, the record and the history.
func (s *store) put(ctx context.Context, layout claims.Entry, lease clientv3.LeaseID, name nodeName, value []byte) (*clientv3.TxnResponse, error) {
	key := s.keys.claim(name.String())
	look := []clientv3.Op{
		clientv3.OpGet(s.keys.claimsOn(name.worker), clientv3.WithPrefix(), clientv3.WithKeysOnly()),
		clientv3.OpGet(s.keys.record(name.worker)),
		clientv3.OpGet(s.keys.history(name.worker)),
	}
	put := clientv3.OpPut(key, string(value), clientv3.WithLease(lease))
	// The name is one of a kind: if it exists, this very request was sent twice.
	return s.txns.inCluster(ctx, layout, kindCreate,
		[]clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(key), "=", 0)},
		append([]clientv3.Op{put}, look...), append([]clientv3.Op{clientv3.OpGet(key)}, look...))
}

// created reads the answer to put.
func (s *store) created(resp *clientv3.TxnResponse, name nodeName) claims.Created {
	c := claims.Created{Node: name.node(), Record: entry(kvAt(resp, 2)), History: entry(kvAt(resp, 3))}
	nodes := kvsAt(resp, 1)
	for _, kv := range nodes {
		if s.keys.nameOf(string(kv.Key)) == c.Name {
			c.Created = kv.CreateRevision
		}
	}
	for _, kv := range nodes {
		other, ok := s.Parse(s.keys.nameOf(string(kv.Key)))
		if !ok || kv.CreateRevision >= c.Created {
			continue
		}
		other.Created = kv.CreateRevision
		c.Before = append(c.Before, other)
	}
	return c
}

// Write implements claims.Store.
func (s *store) Write(ctx context.Context, layout claims.Entry, w claims.Write) (claims.Written, error) {
	claim, record, history := s.keys.claim(w.Claim), s.keys.record(w.Worker), s.keys.history(w.Worker)
	cmps := []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(record), "=", w.Record.Version)}
	then := []clientv3.Op{clientv3.OpPut(record, string(w.Record.Value))}
	if w.Host != "" {
		then = append(then, clientv3.OpPut(s.keys.host(w.Host), strconv.Itoa(w.Worker)))
	}
	if w.Before != "" {
		before := s.keys.host(w.Before)
		then = append(then, clientv3.OpTxn([]clientv3.Cmp{clientv3.Compare(clientv3.Value(before), "=", strconv.Itoa(w.Worker))}, []clientv3.Op{clientv3.OpDelete(before)}, nil))
	}
	if w.History.Value != nil {
		cmps = append(cmps, clientv3.Compare(clientv3.ModRevision(history), "=", w.History.Version))
		then = append(then, clientv3.OpPut(history, string(w.History.Value)))
	}
	there := clientv3.OpGet(claim, clientv3.WithKeysOnly())
	if w.Delete {
		there = clientv3.OpDelete(claim)
	}
	then = append(then, there) // last
	resp, err := s.txns.inCluster(ctx, layout, kind(w.Doing), cmps, then, []clientv3.Op{clientv3.OpGet(claim, clientv3.WithKeysOnly()), clientv3.OpGet(record)})
	switch {
	case err != nil:
		return claims.Written{}, err
	case !resp.Succeeded:
		return claims.Written{Claimed: kvAt(resp, 0) != nil, Record: entry(kvAt(resp, 1))}, nil
	}
	last := resp.Responses[len(then)-1]
	return claims.Written{
		Stored: true, Record: claims.Entry{Value: w.Record.Value, Version: resp.Header.Revision},
		Claimed: len(last.GetResponseRange().GetKvs()) > 0 || last.GetResponseDeleteRange().GetDeleted() > 0,
	}, nil
}

// Delete implements claims.Store.
func (s *store) Delete(ctx context.Context, name string) error {
	_, err := s.txns.commit(ctx, kindDelete, nil, []clientv3.Op{clientv3.OpDelete(s.keys.claim(name))}, nil)
	return err
}

// Claims implements claims.Store.
func (s *store) Claims(ctx context.Context, layout claims.Entry) ([]claims.Node, error) {
	resp, err := s.txns.inCluster(ctx, layout, kindClaims, nil, []clientv3.Op{
		clientv3.OpGet(s.keys.claims(), clientv3.WithPrefix(), clientv3.WithKeysOnly()),
	}, nil)
	if err != nil {
		return nil, err
	}
	found := kvsAt(resp, 0)
	nodes := make([]claims.Node, 0, len(found))
	for _, kv := range found {
		if n, ok := s.Parse(s.keys.nameOf(string(kv.Key))); ok {
			nodes = append(nodes, n)
		}
	}
	return nodes, nil
}

// page is how many records one request reads, where not all are asked for.
const page = 1000

// Records implements claims.Store.
func (s *store) Records(ctx context.Context, layout claims.Entry, from int, visit func(int, claims.Entry) bool) error {
	first, end := s.keys.record(from), clientv3.GetPrefixRangeEnd(s.keys.workers())
	for _, span := range [][2]string{{first, end}, {s.keys.record(0), first}} {
		for begin := span[0]; begin < span[1]; {
			resp, err := s.txns.inCluster(ctx, layout, kindRecords, nil, []clientv3.Op{
				clientv3.OpGet(begin, clientv3.WithRange(span[1]), clientv3.WithLimit(page)),
			}, nil)
			if err != nil {
				return err
			}
			found := kvsAt(resp, 0)
			for _, kv := range found {
				if worker, ok := s.keys.workerOf(string(kv.Key)); ok && !visit(worker, entry(kv)) {
					return nil
				}
			}
			if len(found) < page {
				break
			}
			begin = string(found[page-1].Key) + "\x00"
		}
	}
	return nil
}

// List implements claims.Store.
func (s *store) List(ctx context.Context, layout claims.Entry) (claims.Tree, error) {
	resp, err := s.txns.inCluster(ctx, layout, kindList, nil, []clientv3.Op{
		clientv3.OpGet(s.keys.claims(), clientv3.WithPrefix()),
		clientv3.OpGet(s.keys.workers(), clientv3.WithPrefix()),
	}, nil)
	if err != nil {
		return claims.Tree{}, err
	}
	tree := claims.Tree{Records: map[int]claims.Entry{}}
	for _, kv := range kvsAt(resp, 0) {
		n, ok := s.Parse(s.keys.nameOf(string(kv.Key)))
		if !ok {
			continue // nobody's claim: it names no worker ID
		}
		n.Created, n.Value = kv.CreateRevision, kv.Value
		tree.Claims = append(tree.Claims, n)
	}
	for _, kv := range kvsAt(resp, 1) {
		if worker, ok := s.keys.workerOf(string(kv.Key)); ok {
			tree.Records[worker] = entry(kv)
		}
	}
	return tree, nil
}

// Host implements claims.Store.
func (s *store) Host(ctx context.Context, host string) (claims.Entry, error) {
	resp, err := s.txns.commit(ctx, kindHost, nil, []clientv3.Op{clientv3.OpGet(s.keys.host(host))}, nil)
	return entry(kvAt(resp, 0)), err
}

// Record implements claims.Store.
func (s *store) Record(ctx context.Context, layout claims.Entry, worker int) (claims.Entry, error) {
	resp, err := s.txns.inCluster(ctx, layout, kindRecord, nil, []clientv3.Op{clientv3.OpGet(s.keys.record(worker))}, nil)
	return entry(kvAt(resp, 0)), err
}

// History implements claims.Store.
func (s *store) History(ctx context.Context, layout claims.Entry, worker int) (claims.Entry, error) {
	resp, err := s.txns.inCluster(ctx, layout, kindHistory, nil, []clientv3.Op{clientv3.OpGet(s.keys.history(worker))}, nil)
	return entry(kvAt(resp, 0)), err
}

// Parse implements claims.Store.
func (s *store) Parse(name string) (claims.Node, bool) {
	n, ok := parseName(name)
	if !ok {
		return claims.Node{}, false
	}
	return n.node(), true
}
