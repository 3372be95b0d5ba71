package tree

import (
	"context"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/claims"
)

// Own implements claims.Store.
func (s *Store) Own(ctx context.Context) (own []claims.Node, err error) {
	err = s.plain(ctx, listingOwn, func(t *Tree) func() {
		o := t.own(s.incarnation)
		return func() { own = o }
	})
	return own, err
}

// Claims implements claims.Store.
func (s *Store) Claims(ctx context.Context, layout claims.Entry) (found []claims.Node, err error) {
	err = s.fenced(ctx, listing, layout, func(t *Tree) func() {
		l := t.names()
		return func() { found = l }
	})
	return found, err
}

// page is how many records one request reads. A simulated cluster is small, and is to have listings
// in parts.
const page = 3

// Records implements claims.Store.
func (s *Store) Records(ctx context.Context, layout claims.Entry, from int, visit func(int, claims.Entry) bool) error {
	for _, span := range [][2]int{{from, coord.MaxWorkers}, {0, from}} {
		for begin := span[0]; begin < span[1]; {
			var workers []int
			var found []claims.Entry
			err := s.fenced(ctx, listingRecords, layout, func(t *Tree) func() {
				w, e := t.some(begin, span[1], page)
				return func() { workers, found = w, e }
			})
			if err != nil {
				return err
			}
			for i, worker := range workers {
				if !visit(worker, found[i]) {
					return nil
				}
			}
			if len(workers) < page {
				break
			}
			begin = workers[page-1] + 1
		}
	}
	return nil
}

// List implements claims.Store.
func (s *Store) List(ctx context.Context, layout claims.Entry) (found claims.Tree, err error) {
	err = s.fenced(ctx, listing, layout, func(t *Tree) func() {
		l := t.list()
		return func() { found = l }
	})
	return found, err
}

// Host implements claims.Store. It is a hint, and may be an old one.
func (s *Store) Host(ctx context.Context, host string) (stored claims.Entry, err error) {
	if _, _, err := s.seen(); err != nil {
		return claims.Entry{}, err
	}
	err = s.carrier.Carry(ctx, "read the host's worker ID", true, func(t *Tree) func() {
		e := t.hosts[host]
		return func() { stored = e }
	})
	return stored, err
}

// Record implements claims.Store.
func (s *Store) Record(ctx context.Context, layout claims.Entry, worker int) (stored claims.Entry, err error) {
	err = s.fenced(ctx, "read a record", layout, func(t *Tree) func() {
		e := t.records[worker]
		return func() { stored = e }
	})
	return stored, err
}

// History implements claims.Store.
func (s *Store) History(ctx context.Context, layout claims.Entry, worker int) (stored claims.Entry, err error) {
	err = s.fenced(ctx, readingHistory, layout, func(t *Tree) func() {
		e := t.history[worker]
		return func() { stored = e }
	})
	return stored, err
}
