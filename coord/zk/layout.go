package zk

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"

	gozk "github.com/go-zookeeper/zk"

	"github.com/flakeward/flakeward/coord/claims"
)

// versionOf is a node's version as the version of an entry, for which 0 means that
// there is no node. ZooKeeper counts from 0.
func versionOf(stat *gozk.Stat) int64 { return int64(stat.Version) + 1 }

// checked is the inverse of versionOf, for a node that must be there. It never
// returns -1, by which ZooKeeper checks nothing.
func checked(version int64) (int32, error) {
	if version < 1 || version > math.MaxInt32 {
		return 0, fmt.Errorf("zk: %d is no version of a node", version)
	}
	return int32(version - 1), nil
}

// get reads a node; the entry's version is 0 if there is none.
func (s *store) get(ctx context.Context, k kind, path string) (claims.Entry, error) {
	entry, _, err := s.read(ctx, k, path)
	return entry, err
}

// read is get, and tells the node's czxid too, which is 0 if there is none.
func (s *store) read(ctx context.Context, k kind, path string) (entry claims.Entry, created int64, err error) {
	type node struct {
		entry   claims.Entry
		created int64
	}
	found, err := ask(ctx, s, k, path, func(conn *gozk.Conn) (node, error) {
		value, stat, err := conn.Get(path)
		if err != nil {
			return node{}, err
		}
		return node{claims.Entry{Value: value, Version: versionOf(stat)}, stat.Czxid}, nil
	})
	if errors.Is(err, gozk.ErrNoNode) {
		return claims.Entry{}, 0, nil
	}
	return found.entry, found.created, err
}

// sync makes what is read next at least as new as all that was answered before. A
// server may lag behind the leader, and so behind what another one told.
func (s *store) sync(ctx context.Context, k kind) error {
	_, err := ask(ctx, s, k+asOfNow, s.root, func(conn *gozk.Conn) (string, error) { return conn.Sync(s.root) })
	return err
}

// create makes a node that stays. One that is there already is verdict
// gozk.ErrNodeExists.
func (s *store) create(ctx context.Context, k kind, path string, value []byte) error {
	_, err := tell(ctx, s, k, path, func(conn *gozk.Conn) (string, error) {
		return conn.Create(path, value, gozk.FlagPersistent, s.access)
	})
	return err
}

// Look implements claims.Store.
func (s *store) Look(ctx context.Context) (claims.Entry, error) {
	if err := s.sync(ctx, kindLook); err != nil {
		return claims.Entry{}, err
	}
	found, err := s.readLayout(ctx)
	return found.entry, err
}

// LookAnew implements claims.Store. Servers that know less than a session has seen end
// its connection before it can ask anything: only a session of which they know nothing is
// served. It lasts for this one look.
func (s *store) LookAnew(ctx context.Context) (claims.Entry, error) {
	fresh, err := newStore(s.servers, s.config)
	if err != nil {
		return claims.Entry{}, err
	}
	s.mu.Lock()
	closed := s.closed
	if !closed {
		fresh.network, fresh.through = s.network, s.through
		s.sent.Add(1) // Close waits for the end of that session too
	}
	s.mu.Unlock()
	if closed {
		return claims.Entry{}, errClosed
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	found, err := fresh.Look(ctx)
	go func() { // what is asked of it has been answered: nobody waits for its end but Close
		defer s.sent.Done()
		if err := fresh.Close(); err != nil {
			s.log.Debug("a session that was for one look did not end in order", "error", err)
		}
	}()
	return found, err
}

// Join implements claims.Store. The layout is made last: whoever finds one finds
// all that is above and beside it, and shut.
func (s *store) Join(ctx context.Context, layout []byte) (claims.Entry, error) {
	for {
		found, err := s.Look(ctx)
		if err != nil {
			return claims.Entry{}, err
		}
		if err := s.makeFolders(ctx); err != nil {
			return claims.Entry{}, err
		}
		if err := s.shut(ctx); err != nil || found.Version != 0 {
			return found, err
		}
		token := rand.Text()
		_, err = tell(ctx, s, kindJoin, s.layout(), func(conn *gozk.Conn) ([]gozk.MultiResponse, error) {
			return conn.Multi(&gozk.CreateRequest{Path: s.layout(), Data: layout, Acl: s.access, Flags: gozk.FlagPersistent}, s.makeToken(token))
		})
		switch {
		case err == nil:
			made := claims.Entry{Value: layout, Version: 1}
			s.remember(seen{entry: made, tokens: []string{token}})
			return made, nil
		case errors.Is(err, gozk.ErrNodeExists): // others were faster
		case errors.Is(err, gozk.ErrNoNode): // somebody wipes the tree
		default:
			return claims.Entry{}, err
		}
		if ctx.Err() != nil {
			return claims.Entry{}, s.errChanging(ctx, kindJoin)
		}
	}
}

// makeFolders makes the nodes that others are made below, where they are missing.
// To ask first is not only quicker: to see a node takes no access to it.
func (s *store) makeFolders(ctx context.Context) error {
	for _, path := range s.folders() {
		there, err := ask(ctx, s, kindTree, path, func(conn *gozk.Conn) (bool, error) {
			there, _, err := conn.Exists(path)
			return there, err
		})
		if err == nil && !there {
			err = s.create(ctx, kindTree, path, nil)
		}
		switch {
		case err == nil, errors.Is(err, gozk.ErrNodeExists):
		case errors.Is(err, claims.ErrRefused) && !there:
			return fmt.Errorf("%w; to make it takes access to what is above it: a parent that several users share is for an administrator to make", err)
		default:
			return fmt.Errorf("%s: %s: %s: %w", s.name, kindTree, path, err)
		}
	}
	return nil
}

// Replace implements claims.Store. Its operations stand where those of a fence do.
func (s *store) Replace(ctx context.Context, layout claims.Entry, value []byte) (claims.Entry, error) {
	f, err := s.fence(ctx, layout)
	if err != nil {
		return claims.Entry{}, err
	}
	results, err := tell(ctx, s, kindReplace, s.layout(), func(conn *gozk.Conn) ([]gozk.MultiResponse, error) {
		return conn.Multi(&gozk.SetDataRequest{Path: s.layout(), Data: value, Version: f.version}, s.checkToken(f))
	})
	switch {
	case err == nil && len(results) == fenced:
		stored := claims.Entry{Value: value, Version: versionOf(results[atLayout].Stat)}
		s.remember(seen{entry: stored, tokens: []string{f.token}})
		return stored, nil
	case err == nil:
		return claims.Entry{}, fmt.Errorf("%s: %s: %d results of %d operations", s.name, kindReplace, len(results), fenced)
	case errors.Is(err, gozk.ErrBadVersion), errors.Is(err, gozk.ErrNoNode):
		found, err := s.Look(ctx)
		if err == nil {
			err = &claims.MovedError{Found: found}
		}
		return claims.Entry{}, err
	default:
		return claims.Entry{}, err
	}
}
