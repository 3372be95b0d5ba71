package dir

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
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
		record, err := d.entry(claims.RecordOf(worker))
		if err != nil {
			return claims.Written{}, err
		}
		if record.Version != w.Record.Version {
			return claims.Written{Record: record, Claimed: claimed}, nil
		}
		if w.History.Value != nil {
			history, err := d.entry(claims.HistoryOf(worker))
			if err != nil {
				return claims.Written{}, err
			}
			written := bytes.Equal(history.Value, w.History.Value) // by an earlier try
			if !written && history.Version != w.History.Version {
				return claims.Written{Record: record, Claimed: claimed}, nil
			}
			if !written {
				if _, err := s.put(d, claims.HistoryOf(worker), history, w.History.Value); err != nil {
					return claims.Written{}, err
				}
			}
		}
		stored, err := s.put(d, claims.RecordOf(worker), record, w.Record.Value)
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
		before := claims.HostOf(w.Before)
		if e, err := d.entry(before); err == nil && string(e.Value) == worker {
			_ = d.remove(before)
		}
	}
	if w.Host == "" {
		return
	}
	name := claims.HostOf(w.Host)
	if was, err := d.entry(name); err == nil && string(was.Value) != worker {
		d.hint(name, was, []byte(worker))
	}
}

// release deletes a claim whose record was stored. One that cannot be removed is dead all the same.
func (s *store) release(d *directory, name string) {
	if s.delete(d, name) != nil {
		s.drop(name)
	}
}

// Claims implements claims.Store.
func (s *store) Claims(ctx context.Context, layout claims.Entry, values bool) ([]claims.Node, error) {
	return fenced(ctx, s, "list the claims", layout, func(d *directory) ([]claims.Node, error) {
		living, err := s.living(d)
		for i := range living {
			if err == nil && values {
				var e claims.Entry
				e, err = d.entry(claims.ClaimOf(living[i].Name))
				living[i].Value = e.Value
			}
		}
		return living, err
	})
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
	names, err := d.names(claims.RecordsKey)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		worker, ok := claims.ParseWorker(name)
		if !ok {
			continue // nobody's record
		}
		e, err := d.entry(claims.RecordOf(worker))
		if err != nil {
			return nil, err
		}
		all = append(all, record{worker, e})
	}
	return all, nil
}

// Read implements claims.Store.
func (s *store) Read(ctx context.Context, layout claims.Entry, key string) (claims.Entry, error) {
	return fenced(ctx, s, "read "+key, layout, func(d *directory) (claims.Entry, error) { return d.entry(key) })
}

// Name implements claims.Store.
func (s *store) Name() string { return "dir (" + s.config.Path + ")" }

// Path implements claims.Store.
func (s *store) Path(key string) string {
	if key == claims.ClusterKey {
		key = clusterName
	}
	return filepath.Join(s.config.Path, key)
}
