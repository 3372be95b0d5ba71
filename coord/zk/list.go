package zk

import (
	"context"
	"slices"

	"github.com/flakeward/flakeward/coord/claims"
)

// asOfNow has a read see the newest state, and checks the cluster record after it: what was read is
// of that cluster. ZooKeeper has no reading of several nodes at one moment.
func (s *store) asOfNow(ctx context.Context, layout claims.Entry, k kind, read func() error) error {
	if err := s.client.sync(ctx, k); err != nil {
		return err
	}
	if err := read(); err != nil {
		return err
	}
	return s.stands(ctx, layout)
}

// Claims implements claims.Store.
func (s *store) Claims(ctx context.Context, layout claims.Entry, values bool) (nodes []claims.Node, err error) {
	err = s.asOfNow(ctx, layout, kindClaims, func() error {
		names, err := s.client.children(ctx, kindClaims, s.claims())
		for _, name := range names {
			if node, ok := claims.ParseName(name); ok {
				nodes = append(nodes, node)
			}
		}
		if err != nil || !values {
			return err
		}
		found := make([]claims.Entry, len(nodes))
		err = each(ctx, len(nodes), func(ctx context.Context, i int) (err error) {
			found[i], err = s.client.get(ctx, kindClaim, s.claim(nodes[i].Name))
			return err
		})
		there := nodes[:0]
		for i, node := range nodes {
			if node.Value = found[i].Value; found[i].Version != 0 { // it is gone meanwhile
				there = append(there, node)
			}
		}
		nodes = there
		return err
	})
	return nodes, err
}

// Records implements claims.Store. It reads them in parts.
func (s *store) Records(ctx context.Context, layout claims.Entry, from int, visit func(int, claims.Entry) bool) error {
	return s.asOfNow(ctx, layout, kindRecords, func() error { return s.records(ctx, from, visit) })
}

func (s *store) records(ctx context.Context, from int, visit func(int, claims.Entry) bool) error {
	names, err := s.client.children(ctx, kindRecords, s.workers())
	if err != nil {
		return err
	}
	workers := make([]int, 0, len(names))
	for _, name := range names {
		if worker, ok := claims.ParseWorker(name); ok {
			workers = append(workers, worker)
		}
	}
	slices.Sort(workers)
	first, _ := slices.BinarySearch(workers, from)
	workers = slices.Concat(workers[first:], workers[:first])
	for part := range slices.Chunk(workers, pipelined) {
		entries := make([]claims.Entry, len(part))
		err := each(ctx, len(part), func(ctx context.Context, i int) (err error) {
			entries[i], err = s.client.get(ctx, kindRecord, s.path(claims.RecordOf(part[i])))
			return err
		})
		if err != nil {
			return err
		}
		for i, entry := range entries {
			if entry.Version != 0 && !visit(part[i], entry) {
				return nil
			}
		}
	}
	return nil
}

// Read implements claims.Store.
func (s *store) Read(ctx context.Context, layout claims.Entry, key string) (found claims.Entry, err error) {
	err = s.asOfNow(ctx, layout, kind("read "+key), func() (err error) {
		found, err = s.client.get(ctx, kind("read "+key), s.path(key))
		return err
	})
	return found, err
}
