package tree

import (
	"context"
	"strings"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/claims"
)

// Claims implements claims.Store.
func (s *Store) Claims(ctx context.Context, layout claims.Entry, _ bool) (found []claims.Node, err error) {
	err = s.fenced(ctx, listing, layout, func(t *Tree) func() {
		l := t.list()
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

// Read implements claims.Store. A preference is a hint, and may be an old one.
func (s *Store) Read(ctx context.Context, layout claims.Entry, key string) (stored claims.Entry, err error) {
	folder, _, _ := strings.Cut(key, "/")
	err = s.fenced(ctx, reading[folder], layout, func(t *Tree) func() {
		e := t.read(key)
		return func() { stored = e }
	})
	return stored, err
}
