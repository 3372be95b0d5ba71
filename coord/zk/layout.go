package zk

import (
	"context"
	"errors"
	"fmt"

	gozk "github.com/go-zookeeper/zk"

	"github.com/flakeward/flakeward/coord/claims"
)

// Look implements claims.Store.
func (s *store) Look(ctx context.Context) (claims.Entry, error) {
	if err := s.client.sync(ctx, kindLook); err != nil {
		return claims.Entry{}, err
	}
	return s.client.get(ctx, kindLook, s.layout())
}

// LookAnew implements claims.Store. Servers that know less than a session has seen end
// its connection before it can ask anything: only a session of which they know nothing is
// served. It lasts for this one look.
func (s *store) LookAnew(ctx context.Context) (claims.Entry, error) {
	c := s.client
	fresh, err := newStore(c.servers, c.config)
	if err != nil {
		return claims.Entry{}, err
	}
	c.mu.Lock()
	closed := c.closed
	if !closed {
		fresh.client.network, fresh.client.through = c.network, c.through
		c.sent.Add(1) // Close waits for the end of that session too
	}
	c.mu.Unlock()
	if closed {
		return claims.Entry{}, errClosed
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	found, err := fresh.Look(ctx)
	go func() { // what is asked of it has been answered: nobody waits for its end but Close
		defer c.sent.Done()
		if err := fresh.Close(); err != nil {
			c.config.Log.Debug("a session that was for one look did not end in order", "error", err)
		}
	}()
	return found, err
}

// Make implements claims.Store. The layout is made last: whoever finds one finds
// all that is above and beside it, and shut.
func (s *store) Make(ctx context.Context, layout []byte) (claims.Entry, error) {
	for {
		found, err := s.Look(ctx)
		if err != nil {
			return claims.Entry{}, err
		}
		if err := s.client.makeMissing(ctx, s.folders()); err != nil {
			return claims.Entry{}, err
		}
		if err := s.client.shut(ctx, []string{s.root, s.layout(), s.claims(), s.workers(), s.path(claims.HostsKey), s.path(claims.HistoryKey)}); err != nil || found.Version != 0 {
			return found, err
		}
		_, err = tell(ctx, s.client, kindMake, s.layout(), func(conn *gozk.Conn) ([]gozk.MultiResponse, error) {
			return conn.Multi(&gozk.CreateRequest{Path: s.layout(), Data: layout, Acl: s.client.access(), Flags: gozk.FlagPersistent}, s.makeToken(layout))
		})
		switch {
		case err == nil:
			return claims.Entry{Value: layout, Version: 1}, nil
		case errors.Is(err, gozk.ErrNodeExists): // others were faster
		case errors.Is(err, gozk.ErrNoNode): // somebody wipes the tree
		default:
			return claims.Entry{}, err
		}
		if ctx.Err() != nil {
			return claims.Entry{}, s.client.errChanging(ctx, kindMake)
		}
	}
}

// makeToken makes the child of a layout.
func (s *store) makeToken(layout []byte) any {
	return &gozk.CreateRequest{Path: s.token(layout), Acl: s.client.access(), Flags: gozk.FlagPersistent}
}

// Replace implements claims.Store. The layout gets another child: in a tree that was put back from
// a backup versions go back, and what was changed there since has no version of its own.
func (s *store) Replace(ctx context.Context, layout claims.Entry, value []byte) (claims.Entry, error) {
	version, err := checked(layout.Version)
	if err != nil {
		return claims.Entry{}, err
	}
	results, _, err := s.multi(ctx, layout, kindReplace, s.layout(),
		&gozk.SetDataRequest{Path: s.layout(), Data: value, Version: version},
		&gozk.DeleteRequest{Path: s.token(layout.Value), Version: anyVersion},
		s.makeToken(value))
	if verdict(err) {
		err = fmt.Errorf("%s: %s: %w", s.client.name, kindReplace, err)
	}
	if err != nil {
		return claims.Entry{}, err
	}
	return claims.Entry{Value: value, Version: versionOf(results[0].Stat)}, nil
}
