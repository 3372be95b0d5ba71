package etcd

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

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
	resp, err := s.txns.commit(ctx, kindLook, nil, []clientv3.Op{clientv3.OpGet(s.txns.layout)}, nil)
	return entry(kvAt(resp, 0)), err
}

// LookAnew implements claims.Store. Etcd answers whoever asks, whatever that has seen.
func (s *store) LookAnew(ctx context.Context) (claims.Entry, error) {
	resp, _, err := s.txns.send(ctx, kindLook, nil, []clientv3.Op{clientv3.OpGet(s.txns.layout)}, nil)
	return entry(kvAt(resp, 0)), err
}

// Make implements claims.Store.
func (s *store) Make(ctx context.Context, layout []byte) (claims.Entry, error) {
	key := s.txns.layout
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
		return claims.Entry{}, fmt.Errorf("%s: the cluster record %s vanished while it was read; try again", s.Name(), key)
	}
	return entry(kv), nil
}

// Replace implements claims.Store.
func (s *store) Replace(ctx context.Context, layout claims.Entry, value []byte) (claims.Entry, error) {
	resp, err := s.txns.inCluster(ctx, layout, kindReplace, nil, []clientv3.Op{clientv3.OpPut(s.txns.layout, string(value))}, nil)
	if err != nil {
		return claims.Entry{}, err
	}
	return claims.Entry{Value: value, Version: resp.Header.Revision}, nil
}

// Number implements claims.Store.
//
// A single transaction that counts and claims would have to compare the counter with the value it
// was read at, and of a thousand that start together all but one would fail in each round. So a
// number is drawn by a blind put on the counter's key: its version rises by one with each, in the
// order that etcd applies them, and nothing is compared. A crash before the claim skips a number,
// which costs nothing: numbers only assign, they own nothing. Ownership is by create revision.
func (s *store) Number(ctx context.Context, layout claims.Entry) (uint64, error) {
	resp, err := s.txns.inCluster(ctx, layout, kindNumber, nil, []clientv3.Op{clientv3.OpPut(s.root+"seq", "", clientv3.WithPrevKV())}, nil)
	if err != nil {
		return 0, err
	}
	return drawn(resp), nil
}

// drawn is the sequence number that an answer is about: how many were drawn before.
func drawn(resp *clientv3.TxnResponse) uint64 {
	return uint64(resp.Responses[0].GetResponsePut().GetPrevKv().GetVersion())
}

// Create implements claims.Store.
func (s *store) Create(ctx context.Context, layout claims.Entry, claim claims.Node) (claims.Created, error) {
	for {
		session, err := s.sessions.get(ctx)
		if err != nil {
			return claims.Created{}, err
		}
		resp, err := s.put(ctx, layout, session.id, claim)
		if errors.Is(err, rpctypes.ErrLeaseNotFound) {
			s.sessions.retire(session)
			continue
		}
		if err != nil {
			var restored *coord.RestoredError
			if errors.As(err, &restored) {
				// It may have been made before that was found out, and nobody
				// looks for orphans any more.
				_ = s.Delete(ctx, claim.Name) // answers the same
			}
			return claims.Created{}, err
		}
		return s.created(resp, claim), nil
	}
}

// put creates a claim node under the lease and reads, in the same transaction, all
// claims on its worker ID, the record and the history.
func (s *store) put(ctx context.Context, layout claims.Entry, lease clientv3.LeaseID, claim claims.Node) (*clientv3.TxnResponse, error) {
	key := s.root + claims.ClaimOf(claim.Name)
	look := []clientv3.Op{
		clientv3.OpGet(s.root+claims.ClaimOf(claims.Pad(claim.Worker)+"-"), clientv3.WithPrefix(), clientv3.WithKeysOnly()),
		clientv3.OpGet(s.root + claims.RecordOf(claim.Worker)),
		clientv3.OpGet(s.root + claims.HistoryOf(claim.Worker)),
	}
	put := clientv3.OpPut(key, string(claim.Value), clientv3.WithLease(lease))
	// The name is one of a kind: if it exists, this very request was sent twice.
	return s.txns.inCluster(ctx, layout, kindCreate,
		[]clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(key), "=", 0)},
		append([]clientv3.Op{put}, look...), append([]clientv3.Op{clientv3.OpGet(key)}, look...))
}

// created reads the answer to put.
func (s *store) created(resp *clientv3.TxnResponse, claim claims.Node) claims.Created {
	c := claims.Created{Node: claim, Record: entry(kvAt(resp, 2)), History: entry(kvAt(resp, 3))}
	nodes := s.nodes(kvsAt(resp, 1))
	for _, n := range nodes {
		if n.Name == c.Name {
			c.Created = n.Created
		}
	}
	for _, n := range nodes {
		if n.Created < c.Created {
			c.Before = append(c.Before, n)
		}
	}
	return c
}

// nodes are the claim nodes among keys.
func (s *store) nodes(kvs []*mvccpb.KeyValue) []claims.Node {
	nodes := make([]claims.Node, 0, len(kvs))
	for _, kv := range kvs {
		n, ok := claims.ParseName(strings.TrimPrefix(string(kv.Key), s.root+claims.ClaimOf("")))
		if !ok {
			continue // nobody's claim: it names no worker ID
		}
		n.Created, n.Value = kv.CreateRevision, kv.Value
		nodes = append(nodes, n)
	}
	return nodes
}

// Write implements claims.Store.
func (s *store) Write(ctx context.Context, layout claims.Entry, w claims.Write) (claims.Written, error) {
	claim, record, history := s.root+claims.ClaimOf(w.Claim), s.root+claims.RecordOf(w.Worker), s.root+claims.HistoryOf(w.Worker)
	cmps := []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(record), "=", w.Record.Version)}
	then := []clientv3.Op{clientv3.OpPut(record, string(w.Record.Value))}
	if w.Host != "" {
		then = append(then, clientv3.OpPut(s.root+claims.HostOf(w.Host), strconv.Itoa(w.Worker)))
	}
	if w.Before != "" {
		before := s.root + claims.HostOf(w.Before)
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
	_, err := s.txns.commit(ctx, kindDelete, nil, []clientv3.Op{clientv3.OpDelete(s.root + claims.ClaimOf(name))}, nil)
	return err
}

// Claims implements claims.Store.
func (s *store) Claims(ctx context.Context, layout claims.Entry, values bool) ([]claims.Node, error) {
	options := []clientv3.OpOption{clientv3.WithPrefix()}
	if !values {
		options = append(options, clientv3.WithKeysOnly())
	}
	resp, err := s.txns.inCluster(ctx, layout, kindClaims, nil, []clientv3.Op{clientv3.OpGet(s.root+claims.ClaimOf(""), options...)}, nil)
	if err != nil {
		return nil, err
	}
	return s.nodes(kvsAt(resp, 0)), nil
}

// page is how many records one request reads, where not all are asked for.
const page = 1000

// Records implements claims.Store.
func (s *store) Records(ctx context.Context, layout claims.Entry, from int, visit func(int, claims.Entry) bool) error {
	folder := s.root + claims.RecordsKey + "/"
	first, end := s.root+claims.RecordOf(from), clientv3.GetPrefixRangeEnd(folder)
	for _, span := range [][2]string{{first, end}, {folder, first}} {
		for begin := span[0]; begin < span[1]; {
			resp, err := s.txns.inCluster(ctx, layout, kindRecords, nil, []clientv3.Op{
				clientv3.OpGet(begin, clientv3.WithRange(span[1]), clientv3.WithLimit(page)),
			}, nil)
			if err != nil {
				return err
			}
			found := kvsAt(resp, 0)
			for _, kv := range found {
				if worker, ok := claims.ParseWorker(strings.TrimPrefix(string(kv.Key), folder)); ok && !visit(worker, entry(kv)) {
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

// Read implements claims.Store.
func (s *store) Read(ctx context.Context, layout claims.Entry, key string) (claims.Entry, error) {
	resp, err := s.txns.inCluster(ctx, layout, kind("read "+key), nil, []clientv3.Op{clientv3.OpGet(s.root + key)}, nil)
	return entry(kvAt(resp, 0)), err
}
