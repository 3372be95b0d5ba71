package zk

import (
	"context"
	"slices"

	"github.com/flakeward/flakeward/coord"
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
			found.Claims, err = s.lister().claimNodes(ctx)
		} else {
			found.Records = map[int]claims.Entry{}
			err = s.lister().records(ctx, 0, coord.MaxWorkers, func(worker int, record claims.Entry) bool {
				found.Records[worker] = record
				return true
			})
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

// Claims implements claims.Store.
func (s *store) Claims(ctx context.Context, layout claims.Entry) ([]claims.Node, error) {
	if err := s.client.sync(ctx, kindClaims); err != nil {
		return nil, err
	}
	nodes, err := s.lister().claimNames(ctx)
	if err == nil {
		err = s.fences.stands(ctx, fence{layout: layout})
	}
	if err != nil {
		return nil, err
	}
	return nodes, nil
}

// lister lists what is in the tree, without a fence.
type lister struct {
	tree
	client *client
}

func (s *store) lister() lister { return lister{s.tree, s.client} }

// claimNames lists the claim nodes by their names.
func (l lister) claimNames(ctx context.Context) ([]claims.Node, error) {
	names, err := l.client.children(ctx, kindClaims, l.claims())
	if err != nil {
		return nil, err
	}
	nodes := make([]claims.Node, 0, len(names))
	for _, name := range names {
		if node, ok := parseName(name); ok {
			nodes = append(nodes, node)
		}
	}
	return nodes, nil
}

// claimNodes lists the claim nodes with their values.
func (l lister) claimNodes(ctx context.Context) ([]claims.Node, error) {
	nodes, err := l.claimNames(ctx)
	if err != nil {
		return nil, err
	}
	err = each(ctx, len(nodes), func(ctx context.Context, i int) error {
		found, created, err := l.client.read(ctx, kindClaim, l.claim(nodes[i].Name))
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

// Record implements claims.Store.
func (s *store) Record(ctx context.Context, layout claims.Entry, worker int) (claims.Entry, error) {
	if err := s.client.sync(ctx, kindRecord); err != nil {
		return claims.Entry{}, err
	}
	found, err := s.client.get(ctx, kindRecord, s.record(worker))
	if err == nil {
		err = s.fences.stands(ctx, fence{layout: layout})
	}
	if err != nil {
		return claims.Entry{}, err
	}
	return found, nil
}

// Records implements claims.Store.
func (s *store) Records(ctx context.Context, layout claims.Entry, from int, visit func(int, claims.Entry) bool) error {
	if err := s.client.sync(ctx, kindRecords); err != nil {
		return err
	}
	if err := s.lister().records(ctx, from, pipelined, visit); err != nil {
		return err
	}
	return s.fences.stands(ctx, fence{layout: layout})
}

// records calls visit with each record, as claims.Store's Records does. It reads so many at once.
func (l lister) records(ctx context.Context, from, together int, visit func(int, claims.Entry) bool) error {
	names, err := l.client.children(ctx, kindRecords, l.workers())
	if err != nil {
		return err
	}
	workers := make([]int, 0, len(names))
	for _, name := range names {
		if worker, ok := unpad(name); ok {
			workers = append(workers, worker)
		}
	}
	slices.Sort(workers)
	first, _ := slices.BinarySearch(workers, from)
	workers = slices.Concat(workers[first:], workers[:first])
	for part := range slices.Chunk(workers, together) {
		entries := make([]claims.Entry, len(part))
		err := each(ctx, len(part), func(ctx context.Context, i int) (err error) {
			entries[i], err = l.client.get(ctx, kindRecord, l.record(part[i]))
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

// Host implements claims.Store.
func (s *store) Host(ctx context.Context, host string) (claims.Entry, error) {
	if err := s.client.sync(ctx, kindHost); err != nil {
		return claims.Entry{}, err
	}
	return s.client.get(ctx, kindHost, s.host(host))
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
