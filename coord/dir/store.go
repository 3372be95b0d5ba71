package dir

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/claims"
)

var _ claims.Store = (*store)(nil)

// Write implements claims.Store. The record is the step that counts. The history comes before it: an
// opening that it has and that the record does not know of has issued nothing, and goes with the next
// one. What comes after it are hints.
func (s *store) Write(ctx context.Context, layout claims.Entry, w claims.Write) (claims.Written, error) {
	return fenced(ctx, s, w.Doing, layout, func(d *directory) (claims.Written, error) {
		worker := w.Node.Worker
		if s.ended[w.Node.Name] {
			return claims.Written{}, errOver
		}
		claimed, err := s.holds(d, w.Node.Name)
		if err != nil {
			return claims.Written{}, err
		}
		record, err := d.entry(recordOf(worker))
		if err != nil {
			return claims.Written{}, err
		}
		if !claimed || record.Version != w.Record.Version {
			return claims.Written{Record: record, Claimed: claimed}, nil
		}
		if w.History.Value != nil {
			history, err := d.entry(historyOf(worker))
			if err != nil {
				return claims.Written{}, err
			}
			written := bytes.Equal(history.Value, w.History.Value) // by an earlier try
			if !written && history.Version != w.History.Version {
				return claims.Written{Record: record, Claimed: true}, nil
			}
			if !written {
				if _, err := s.put(d, historyOf(worker), history, w.History.Value); err != nil {
					return claims.Written{}, err
				}
			}
		}
		stored, err := s.put(d, recordOf(worker), record, w.Record.Value)
		if err != nil {
			return claims.Written{}, err
		}
		s.prefer(d, w)
		if w.Delete {
			s.release(d, w.Node.Name)
		}
		return claims.Written{Stored: true, Record: stored, Claimed: !w.Delete}, nil
	})
}

// prefer stores which worker ID the host had last. On a disk that is full it does not, and the host's
// next start takes another one.
func (s *store) prefer(d *directory, w claims.Write) {
	worker := strconv.Itoa(w.Node.Worker)
	if w.Before.Host != "" {
		before := hostOf(w.Before.Host, w.Before.Lane)
		if e, err := d.entry(before); err == nil && string(e.Value) == worker {
			_ = d.remove(before)
		}
	}
	if w.Host == "" {
		return
	}
	name := hostOf(w.Host, w.Lane)
	was, err := d.entry(name)
	if err != nil || string(was.Value) == worker {
		return
	}
	if f, err := d.create(newName, encode(min(count(was.Version)+1, maxCount), []byte(worker))); err == nil {
		_ = f.Close()
		_ = d.root.Rename(newName, name)
	}
}

// release deletes a claim whose record was stored. One that cannot be removed is dead all the same.
func (s *store) release(d *directory, name string) {
	if s.delete(d, name) != nil {
		s.drop(name)
	}
}

// Own implements claims.Store.
func (s *store) Own(ctx context.Context) ([]claims.Node, error) {
	return ask(ctx, s, "list own claims", func(d *directory) ([]claims.Node, error) {
		living, err := s.living(d)
		return slices.DeleteFunc(living, func(n claims.Node) bool { return n.Incarnation != s.config.Identity.Incarnation }), err
	})
}

// Claims implements claims.Store.
func (s *store) Claims(ctx context.Context, layout claims.Entry) ([]claims.Node, error) {
	return fenced(ctx, s, "list the claims", layout, s.living)
}

// page is how many records one request reads, where not all are asked for.
const page = 1000

// records is a part of a listing of them.
type records struct {
	workers []int
	entries []claims.Entry
}

// Records implements claims.Store.
func (s *store) Records(ctx context.Context, layout claims.Entry, from int, visit func(int, claims.Entry) bool) error {
	for _, span := range [][2]int{{from, coord.MaxWorkers}, {0, from}} {
		for begin := span[0]; begin < span[1]; {
			found, err := fenced(ctx, s, "list the records", layout, func(d *directory) (records, error) {
				return d.records(begin, span[1], page)
			})
			if err != nil {
				return err
			}
			for i, worker := range found.workers {
				if !visit(worker, found.entries[i]) {
					return nil
				}
			}
			if len(found.workers) < page {
				break
			}
			begin = found.workers[page-1] + 1
		}
	}
	return nil
}

// records reads the first ones of the worker IDs from begin on and before end.
func (d *directory) records(begin, end, most int) (records, error) {
	names, err := d.names("workers")
	if err != nil {
		return records{}, err
	}
	var found records
	first, _ := slices.BinarySearch(names, pad(begin))
	for _, name := range names[first:] {
		worker, ok := parseWorker(name)
		if !ok {
			continue // nobody's record
		}
		if worker >= end || len(found.workers) == most {
			break
		}
		e, err := d.entry(recordOf(worker))
		if err != nil {
			return records{}, err
		}
		found.workers, found.entries = append(found.workers, worker), append(found.entries, e)
	}
	return found, nil
}

// List implements claims.Store.
func (s *store) List(ctx context.Context, layout claims.Entry) (claims.Tree, error) {
	return fenced(ctx, s, "list the claims and records", layout, func(d *directory) (claims.Tree, error) {
		tree := claims.Tree{Records: map[int]claims.Entry{}}
		var err error
		if tree.Claims, err = s.living(d); err != nil {
			return claims.Tree{}, err
		}
		for i, n := range tree.Claims {
			e, err := d.entry(claimOf(n.Name))
			if err != nil {
				return claims.Tree{}, err
			}
			tree.Claims[i].Value = e.Value
		}
		found, err := d.records(0, coord.MaxWorkers, coord.MaxWorkers)
		if err != nil {
			return claims.Tree{}, err
		}
		for i, worker := range found.workers {
			tree.Records[worker] = found.entries[i]
		}
		return tree, nil
	})
}

// Host implements claims.Store. It is a hint: where another directory is there now, nothing is known.
func (s *store) Host(ctx context.Context, host string, lane int) (claims.Entry, error) {
	found, err := ask(ctx, s, "read the host's worker ID", func(d *directory) (claims.Entry, error) { return d.entry(hostOf(host, lane)) })
	if replaced := (*replacedError)(nil); errors.As(err, &replaced) {
		err = nil
	}
	return found, err
}

// History implements claims.Store.
func (s *store) History(ctx context.Context, layout claims.Entry, worker int) (claims.Entry, error) {
	return fenced(ctx, s, "read a history", layout, func(d *directory) (claims.Entry, error) { return d.entry(historyOf(worker)) })
}
