package dir

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/flakeward/flakeward/coord/claims"
)

var _ claims.Store = (*store)(nil)

// Write implements claims.Store. The record is the step that counts. The history comes before it:
// an opening that it has and that the record does not know of has issued nothing, and goes with the
// next one. What comes after it are hints.
func (s *store) Write(ctx context.Context, layout claims.Entry, w claims.Write) (claims.Written, error) {
	return fenced(ctx, s, w.Doing, layout, func(d *directory) (claims.Written, error) {
		worker := w.Worker
		if s.ended[w.Claim] {
			return claims.Written{}, errOver
		}
		claimed, err := s.holds(d, w.Claim)
		if err != nil {
			return claims.Written{}, err
		}
		record, err := d.entry(recordOf(worker))
		if err != nil {
			return claims.Written{}, err
		}
		if record.Version != w.Record.Version {
			return claims.Written{Record: record, Claimed: claimed}, nil
		}
		if w.History.Value != nil {
			history, err := d.entry(historyOf(worker))
			if err != nil {
				return claims.Written{}, err
			}
			written := bytes.Equal(history.Value, w.History.Value) // by an earlier try
			if !written && history.Version != w.History.Version {
				return claims.Written{Record: record, Claimed: claimed}, nil
			}
			if !written {
				if _, err := s.put(d, historyOf(worker), history, w.History.Value); err != nil {
					return claims.Written{}, err
				}
			}
		}
		stored, err := s.put(d, recordOf(worker), record, w.Record.Value)
		if errors.Is(err, errUnsynced) {
			s.over(w.Claim) // to send it again shows nothing
		}
		if err != nil {
			return claims.Written{}, err
		}
		s.prefer(d, w)
		if w.Delete && claimed {
			s.release(d, w.Claim)
		}
		return claims.Written{Stored: true, Record: stored, Claimed: claimed}, nil
	})
}

// prefer stores which worker ID the host had last. On a disk that is full it does not, and the
// host's next start takes another one.
func (s *store) prefer(d *directory, w claims.Write) {
	worker := strconv.Itoa(w.Worker)
	if w.Before != "" {
		before := hostOf(w.Before)
		if e, err := d.entry(before); err == nil && string(e.Value) == worker {
			_ = d.remove(before)
		}
	}
	if w.Host == "" {
		return
	}
	name := hostOf(w.Host)
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

// record is the record of a worker ID.
type record struct {
	worker int
	entry  claims.Entry
}

// Records implements claims.Store. A host has few of them.
func (s *store) Records(ctx context.Context, layout claims.Entry, from int, visit func(int, claims.Entry) bool) error {
	all, err := fenced(ctx, s, "list the records", layout, (*directory).records)
	first := slices.IndexFunc(all, func(r record) bool { return r.worker >= from })
	for _, r := range slices.Concat(all[max(0, first):], all[:max(0, first)]) {
		if !visit(r.worker, r.entry) {
			break
		}
	}
	return err
}

// records reads all records, in the order of their worker IDs.
func (d *directory) records() (all []record, err error) {
	names, err := d.names("workers")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		worker, ok := parseWorker(name)
		if !ok {
			continue // nobody's record
		}
		e, err := d.entry(recordOf(worker))
		if err != nil {
			return nil, err
		}
		all = append(all, record{worker, e})
	}
	return all, nil
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
		all, err := d.records()
		for _, r := range all {
			tree.Records[r.worker] = r.entry
		}
		return tree, err
	})
}

// Host implements claims.Store. It is a hint: where another directory is there now, nothing is
// known.
func (s *store) Host(ctx context.Context, host string) (claims.Entry, error) {
	found, err := ask(ctx, s, "read the host's worker ID", func(d *directory) (claims.Entry, error) { return d.entry(hostOf(host)) })
	if replaced := (*replacedError)(nil); errors.As(err, &replaced) {
		err = nil
	}
	return found, err
}

// Record implements claims.Store.
func (s *store) Record(ctx context.Context, layout claims.Entry, worker int) (claims.Entry, error) {
	return fenced(ctx, s, "read a record", layout, func(d *directory) (claims.Entry, error) { return d.entry(recordOf(worker)) })
}

// History implements claims.Store.
func (s *store) History(ctx context.Context, layout claims.Entry, worker int) (claims.Entry, error) {
	return fenced(ctx, s, "read a history", layout, func(d *directory) (claims.Entry, error) { return d.entry(historyOf(worker)) })
}
