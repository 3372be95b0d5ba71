package zk

import (
	"context"

	"github.com/flakeward/flakeward/coord/claims"
)

// List implements claims.Store. ZooKeeper has no reading of several nodes at one
// moment: what is listed was there at some moment between call and return, and each
// node was read by itself.
func (s *store) List(ctx context.Context, layout claims.Entry) (claims.Tree, error) {
	if err := s.client.sync(ctx, kindClaims); err != nil {
		return claims.Tree{}, err
	}
	var found claims.Tree
	err := each(ctx, 2, func(ctx context.Context, i int) (err error) {
		if i == 0 {
			found.Claims, err = s.listClaims(ctx)
		} else {
			found.Records, err = s.listRecords(ctx)
		}
		return err
	})
	if err == nil {
		err = s.fences.stands(ctx, fence{layout: layout})
	}
	if err != nil {
		return claims.Tree{}, err
	}
	return found, nil
}

func (s *store) listClaims(ctx context.Context) ([]claims.Node, error) {
	names, err := s.client.children(ctx, kindClaims, s.claims())
	if err != nil {
		return nil, err
	}
	nodes := make([]claims.Node, 0, len(names))
	for _, name := range names {
		if node, ok := parseName(name); ok {
			nodes = append(nodes, node)
		}
	}
	err = each(ctx, len(nodes), func(ctx context.Context, i int) error {
		found, created, err := s.client.read(ctx, kindClaim, s.claim(nodes[i].Name))
		nodes[i].Value, nodes[i].Created = found.Value, created
		return err
	})
	if err != nil {
		return nil, err
	}
	there := nodes[:0]
	for _, node := range nodes {
		if node.Created != 0 {
			there = append(there, node)
		}
	}
	return there, nil
}

func (s *store) listRecords(ctx context.Context) (map[int]claims.Entry, error) {
	names, err := s.client.children(ctx, kindRecords, s.workers())
	if err != nil {
		return nil, err
	}
	var workers []int
	for _, name := range names {
		if worker, ok := unpad(name); ok {
			workers = append(workers, worker)
		}
	}
	entries := make([]claims.Entry, len(workers))
	err = each(ctx, len(workers), func(ctx context.Context, i int) (err error) {
		entries[i], err = s.client.get(ctx, kindRecord, s.record(workers[i]))
		return err
	})
	if err != nil {
		return nil, err
	}
	records := make(map[int]claims.Entry, len(workers))
	for i, entry := range entries {
		if entry.Version != 0 {
			records[workers[i]] = entry
		}
	}
	return records, nil
}

// Host implements claims.Store.
func (s *store) Host(ctx context.Context, host string, lane int) (claims.Entry, error) {
	if err := s.client.sync(ctx, kindHost); err != nil {
		return claims.Entry{}, err
	}
	return s.client.get(ctx, kindHost, s.host(host, lane))
}

// History implements claims.Store.
func (s *store) History(ctx context.Context, layout claims.Entry, worker int) (claims.Entry, error) {
	if err := s.client.sync(ctx, kindHistory); err != nil {
		return claims.Entry{}, err
	}
	found, err := s.client.get(ctx, kindHistory, s.history(worker))
	if err == nil {
		err = s.fences.stands(ctx, fence{layout: layout})
	}
	if err != nil {
		return claims.Entry{}, err
	}
	return found, nil
}
