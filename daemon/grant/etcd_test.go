package grant_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/etcd"
	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
)

// etcdTree is an etcd server of its own.
type etcdTree struct {
	t       *testing.T
	cluster *etcdtest.Cluster
	client  *clientv3.Client
	line    line
}

func newEtcd(t *testing.T) *etcdTree {
	t.Helper()
	cluster := etcdtest.Start(t, etcdtest.Options{})
	return &etcdTree{t: t, cluster: cluster, client: cluster.Client()}
}

func (e *etcdTree) open(identity coord.Identity) (coord.Coordinator, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: e.cluster.Endpoints()})
	if err != nil {
		return nil, err
	}
	e.t.Cleanup(func() { _ = client.Close() }) // answers with the end of its own context
	client.KV = kvOn{client.KV, &e.line}
	return etcd.New(client, etcd.Config{Identity: identity, TTL: sessionTimeout})
}

const etcdClaims = etcd.DefaultPrefix + "claims/"

func (e *etcdTree) claims(ctx context.Context) ([]string, error) {
	resp, err := e.client.Get(ctx, etcdClaims, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return nil, err
	}
	var names []string
	for _, kv := range resp.Kvs {
		names = append(names, strings.TrimPrefix(string(kv.Key), etcdClaims))
	}
	return names, nil
}

func (e *etcdTree) revoke(ctx context.Context, claim string) error {
	resp, err := e.client.Delete(ctx, etcdClaims+claim)
	if err == nil && resp.Deleted != 1 {
		return errNoSuchClaim
	}
	return err
}

func (e *etcdTree) expire(ctx context.Context, claim string) error {
	resp, err := e.client.Get(ctx, etcdClaims+claim)
	if err != nil {
		return err
	}
	if len(resp.Kvs) != 1 || resp.Kvs[0].Lease == 0 {
		return errNoSuchClaim
	}
	_, err = e.client.Revoke(ctx, clientv3.LeaseID(resp.Kvs[0].Lease))
	return err
}

func (e *etcdTree) hang()   { e.line.hang() }
func (e *etcdTree) arrive() { e.line.arrive() }
func (e *etcdTree) hangs() bool {
	e.line.mu.Lock()
	defer e.line.mu.Unlock()
	return len(e.line.kept) > 0
}

func (e *etcdTree) wipe(ctx context.Context) error {
	_, err := e.client.Delete(ctx, etcd.DefaultPrefix, clientv3.WithPrefix())
	return err
}

func (e *etcdTree) save(ctx context.Context) (func(context.Context) error, error) {
	saved, err := e.client.Get(ctx, etcd.DefaultPrefix, clientv3.WithPrefix())
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		there, err := e.client.Get(ctx, etcd.DefaultPrefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
		if err != nil {
			return err
		}
		// In one step: who looks meanwhile must not find the cluster gone.
		ops := map[string]clientv3.Op{}
		for _, kv := range there.Kvs {
			ops[string(kv.Key)] = clientv3.OpDelete(string(kv.Key))
		}
		for _, kv := range saved.Kvs {
			if kv.Lease == 0 {
				ops[string(kv.Key)] = clientv3.OpPut(string(kv.Key), string(kv.Value))
			}
		}
		_, err = e.client.Txn(ctx).Then(slices.Collect(maps.Values(ops))...).Commit()
		return err
	}, nil
}

// line is what requests pass through on their way to the server.
type line struct {
	mu      sync.Mutex
	hanging bool
	kept    []func() // what is on its way
}

func (l *line) hang() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hanging = true
}

func (l *line) arrive() {
	l.mu.Lock()
	l.hanging = false
	kept := l.kept
	l.kept = nil
	l.mu.Unlock()
	for _, land := range kept {
		land()
	}
}

// keep keeps a request, if the line hangs.
func (l *line) keep(land func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hanging {
		l.kept = append(l.kept, land)
	}
	return l.hanging
}

// kvOn sends transactions, of which the coordinator makes all its requests, through a line.
type kvOn struct {
	clientv3.KV
	line *line
}

func (k kvOn) Txn(ctx context.Context) clientv3.Txn {
	return &txnOn{Txn: k.KV.Txn(ctx), late: k.KV.Txn(context.WithoutCancel(ctx)), ctx: ctx, line: k.line}
}

// txnOn is one transaction, and the same for one that arrives late.
type txnOn struct {
	clientv3.Txn
	late clientv3.Txn
	ctx  context.Context
	line *line
}

func (t *txnOn) If(c ...clientv3.Cmp) clientv3.Txn {
	t.Txn, t.late = t.Txn.If(c...), t.late.If(c...)
	return t
}

func (t *txnOn) Then(o ...clientv3.Op) clientv3.Txn {
	t.Txn, t.late = t.Txn.Then(o...), t.late.Then(o...)
	return t
}

func (t *txnOn) Else(o ...clientv3.Op) clientv3.Txn {
	t.Txn, t.late = t.Txn.Else(o...), t.late.Else(o...)
	return t
}

func (t *txnOn) Commit() (*clientv3.TxnResponse, error) {
	if t.line.keep(func() { _, _ = t.late.Commit() }) { // nobody learns how it went
		<-t.ctx.Done()
		return nil, t.ctx.Err()
	}
	return t.Txn.Commit()
}
