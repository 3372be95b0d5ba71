package zk

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	gozk "github.com/go-zookeeper/zk"

	"github.com/flakeward/flakeward/coord/claims"
)

// Write implements claims.Store. ZooKeeper does nothing of a Multi that has to do with a node which
// is not there, so one that fails at the claim node is sent again without that.
func (s *store) Write(ctx context.Context, layout claims.Entry, w claims.Write) (claims.Written, error) {
	for claimed := w.Claim != ""; ; claimed = false {
		ops, err := s.operations(w, claimed)
		if err != nil {
			return claims.Written{}, err
		}
		results, failed, err := s.multi(ctx, layout, kind(w.Doing), s.path(claims.RecordOf(w.Worker)), ops...)
		switch {
		case err == nil:
			stored := claims.Entry{Value: w.Record.Value, Version: 1}
			if w.Record.Version != 0 {
				stored.Version = versionOf(results[0].Stat)
			}
			s.prefer(ctx, w)
			if w.Before != "" {
				s.client.forget(ctx, s.path(claims.HostOf(w.Before)), w.Worker)
			}
			return claims.Written{Stored: true, Record: stored, Claimed: claimed}, nil
		case failed < 0:
			return claims.Written{}, err
		case errors.Is(err, gozk.ErrNoNode) && claimed && failed == len(ops)-1:
		default:
			return s.found(ctx, layout, w)
		}
	}
}

// operations are those that store w: the record first, and the claim node last, if it is claimed.
func (s *store) operations(w claims.Write, claimed bool) (ops []any, err error) {
	store := func(path string, entry claims.Entry) error {
		if entry.Version == 0 {
			ops = append(ops, &gozk.CreateRequest{Path: path, Data: entry.Value, Acl: s.client.access(), Flags: gozk.FlagPersistent})
			return nil
		}
		version, err := checked(entry.Version)
		ops = append(ops, &gozk.SetDataRequest{Path: path, Data: entry.Value, Version: version})
		return err
	}
	if err := store(s.path(claims.RecordOf(w.Worker)), w.Record); err != nil {
		return nil, err
	}
	if w.History.Value != nil {
		if err := store(s.path(claims.HistoryOf(w.Worker)), w.History); err != nil {
			return nil, err
		}
	}
	switch {
	case claimed && w.Delete:
		ops = append(ops, &gozk.DeleteRequest{Path: s.claim(w.Claim), Version: anyVersion})
	case claimed:
		ops = append(ops, &gozk.CheckVersionRequest{Path: s.claim(w.Claim), Version: anyVersion})
	}
	return ops, nil
}

// found reads what a Multi may have failed at. It was the leader who judged, and the
// server at hand may not know yet what the leader saw.
func (s *store) found(ctx context.Context, layout claims.Entry, w claims.Write) (claims.Written, error) {
	var found claims.Written
	if err := s.client.sync(ctx, kind(w.Doing)); err != nil {
		return found, err
	}
	err := each(ctx, 3, func(ctx context.Context, i int) (err error) {
		switch {
		case i == 0:
			err = s.stands(ctx, layout)
		case i == 1:
			found.Record, err = s.client.get(ctx, kindRecord, s.path(claims.RecordOf(w.Worker)))
		case w.Claim != "":
			found.Claimed, err = s.client.exists(ctx, kindClaim, s.claim(w.Claim))
		}
		return err
	})
	if err != nil {
		return claims.Written{}, err
	}
	return found, nil
}

// prefer stores the worker ID as the one that the host had last. It is a hint: it is
// written apart, and only if it is another one.
func (s *store) prefer(ctx context.Context, w claims.Write) {
	if w.Host == "" {
		return
	}
	path, value := s.path(claims.HostOf(w.Host)), fmt.Append(nil, w.Worker)
	found, err := s.client.get(ctx, kindHost, path)
	switch {
	case err != nil || string(found.Value) == string(value):
	case found.Version == 0:
		err = s.client.create(ctx, kindPrefer, path, value)
	default:
		_, err = tell(ctx, s.client, kindPrefer, path, func(conn *gozk.Conn) (*gozk.Stat, error) {
			return conn.Set(path, value, anyVersion)
		})
	}
	if err != nil {
		s.client.config.Log.Info("the worker ID could not be stored as the one that this host had last; its next start may get another one",
			"host", w.Host, "worker", w.Worker, "error", err)
	}
}

// forget deletes the preference of who had the worker ID before, unless it is for another one by
// now. It is a hint as well: one that stays does no harm.
func (c *client) forget(ctx context.Context, path string, worker int) {
	found, err := c.get(ctx, kindForget, path)
	if err != nil || found.Version == 0 || string(found.Value) != strconv.Itoa(worker) {
		return
	}
	version, err := checked(found.Version)
	if err == nil {
		_, err = tell(ctx, c, kindForget, path, func(conn *gozk.Conn) (struct{}, error) { return struct{}{}, conn.Delete(path, version) })
	}
	if err != nil && !errors.Is(err, gozk.ErrNoNode) && !errors.Is(err, gozk.ErrBadVersion) {
		c.config.Log.Debug("the preference of a host that had the worker ID before is not deleted", "path", path, "worker", worker, "error", err)
	}
}
