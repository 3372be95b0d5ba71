package zk

import (
	"context"
	"errors"

	gozk "github.com/go-zookeeper/zk"

	"github.com/flakeward/flakeward/coord/claims"
)

// children lists the names of the nodes below one; none if that is not there.
func (s *store) children(ctx context.Context, k kind, path string) ([]string, error) {
	names, err := ask(ctx, s, k, path, func(conn *gozk.Conn) ([]string, error) {
		names, _, err := conn.Children(path)
		return names, err
	})
	if errors.Is(err, gozk.ErrNoNode) {
		return nil, nil
	}
	return names, err
}

// List implements claims.Store. ZooKeeper has no reading of several nodes at one
// moment: what is listed was there at some moment between call and return, and each
// node was read by itself.
func (s *store) List(ctx context.Context, layout claims.Entry) (claims.Tree, error) {
	if err := s.sync(ctx, kindClaims); err != nil {
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
		err = s.unmoved(ctx, layout)
	}
	if err != nil {
		return claims.Tree{}, err
	}
	return found, nil
}

func (s *store) listClaims(ctx context.Context) ([]claims.Node, error) {
	names, err := s.children(ctx, kindClaims, s.claims())
	if err != nil {
		return nil, err
	}
	nodes := make([]claims.Node, 0, len(names))
	for _, name := range names {
		if node, ok := parseName(name); ok {
			nodes = append(nodes, node)
		}
	}
	err = each(ctx, len(nodes), func(ctx context.Context, i int) (err error) {
		nodes[i], err = s.readClaim(ctx, nodes[i])
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

// readClaim completes a claim node. Created stays 0 if it has gone.
func (s *store) readClaim(ctx context.Context, node claims.Node) (claims.Node, error) {
	path := s.claim(node.Name)
	read, err := ask(ctx, s, kindClaim, path, func(conn *gozk.Conn) (claims.Node, error) {
		value, stat, err := conn.Get(path)
		if err != nil {
			return node, err
		}
		read := node
		read.Value, read.Created = value, stat.Czxid
		return read, nil
	})
	if errors.Is(err, gozk.ErrNoNode) {
		return node, nil
	}
	return read, err
}

func (s *store) listRecords(ctx context.Context) (map[int]claims.Entry, error) {
	names, err := s.children(ctx, kindRecords, s.workers())
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
		entries[i], err = s.get(ctx, kindRecord, s.record(workers[i]))
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
	if err := s.sync(ctx, kindHost); err != nil {
		return claims.Entry{}, err
	}
	return s.get(ctx, kindHost, s.host(host, lane))
}

// History implements claims.Store.
func (s *store) History(ctx context.Context, layout claims.Entry, worker int) (claims.Entry, error) {
	if err := s.sync(ctx, kindHistory); err != nil {
		return claims.Entry{}, err
	}
	found, err := s.get(ctx, kindHistory, s.history(worker))
	if err == nil {
		err = s.unmoved(ctx, layout)
	}
	if err != nil {
		return claims.Entry{}, err
	}
	return found, nil
}
