//go:build e2e

package drills

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/flakeward/flakeward/audit/history"
)

// sampleTimeout is how long one member may take to say how it is.
const sampleTimeout = 500 * time.Millisecond

// etcd is etcd's part of Members.
type etcd struct{ m *Members }

func (e *etcd) url(tree string) string {
	return "etcd://" + strings.Join(e.m.names, ":2379,") + ":2379" + tree
}

func connectEtcd(addresses ...string) (*clientv3.Client, error) {
	endpoints := make([]string, len(addresses))
	for i, a := range addresses {
		endpoints[i] = "http://" + a + ":2379"
	}
	return clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop(), DialTimeout: sampleTimeout})
}

// statuses asks all members at once how they are.
func (e *etcd) statuses(ctx context.Context, addresses map[string]string) map[string]*clientv3.StatusResponse {
	ctx, cancel := context.WithTimeout(ctx, sampleTimeout)
	defer cancel()
	var mu sync.Mutex
	all := map[string]*clientv3.StatusResponse{}
	var asked sync.WaitGroup
	for name, address := range addresses {
		asked.Go(func() {
			client, err := connectEtcd(address)
			if err != nil {
				return
			}
			defer client.Close() // it was only asked
			if s, err := client.Status(ctx, client.Endpoints()[0]); err == nil {
				mu.Lock()
				all[name] = s
				mu.Unlock()
			}
		})
	}
	asked.Wait()
	return all
}

func (e *etcd) leads(ctx context.Context, addresses map[string]string) (leader string, serving int) {
	type reign struct{ leader, term uint64 }
	follow, names := map[reign]int{}, map[uint64]string{}
	for name, s := range e.statuses(ctx, addresses) {
		names[s.Header.MemberId] = name
		if s.Leader != 0 {
			follow[reign{s.Leader, s.RaftTerm}]++
		}
	}
	for r, n := range follow {
		if n > memberCount/2 && names[r.leader] != "" {
			return names[r.leader], n
		}
	}
	return "", 0
}

// with calls f with a client of the members.
func (e *etcd) with(ctx context.Context, addresses map[string]string, f func(ctx context.Context, c *clientv3.Client) error) error {
	client, err := connectEtcd(slices.Sorted(maps.Values(addresses))...)
	if err != nil {
		return err
	}
	defer client.Close() // what was wanted of it has been answered
	return f(ctx, client)
}

func (e *etcd) stores(ctx context.Context, addresses map[string]string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*sampleTimeout)
	defer cancel()
	return e.with(ctx, addresses, func(ctx context.Context, c *clientv3.Client) error {
		_, err := c.Put(ctx, quorumKey, "")
		return err
	})
}

// quorumKey is of no drill's tree.
const quorumKey = "/flakeward-drills"

func (e *etcd) history(ctx context.Context, tree string) (versions []history.Version, err error) {
	addresses, err := e.m.addresses(ctx)
	if err != nil {
		return nil, err
	}
	err = e.with(ctx, addresses, func(ctx context.Context, c *clientv3.Client) error {
		versions, err = history.Etcd(ctx, c, tree)
		return err
	})
	return versions, err
}

func (e *etcd) claims(ctx context.Context, tree string) (names []string, err error) {
	addresses, err := e.m.addresses(ctx)
	if err != nil {
		return nil, err
	}
	prefix := tree + "/claims/"
	err = e.with(ctx, addresses, func(ctx context.Context, c *clientv3.Client) error {
		found, err := c.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
		if err != nil {
			return err
		}
		for _, kv := range found.Kvs {
			names = append(names, strings.TrimPrefix(string(kv.Key), prefix))
		}
		return nil
	})
	return names, err
}

func (e *etcd) record(ctx context.Context, tree string) (record []byte, err error) {
	addresses, err := e.m.addresses(ctx)
	if err != nil {
		return nil, err
	}
	err = e.with(ctx, addresses, func(ctx context.Context, c *clientv3.Client) error {
		found, err := c.Get(ctx, tree+"/layout")
		for _, kv := range found.Kvs {
			record = kv.Value
		}
		return err
	})
	return record, err
}
