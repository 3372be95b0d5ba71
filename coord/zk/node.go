package zk

import (
	"context"
	"errors"
	"fmt"
	"math"

	gozk "github.com/go-zookeeper/zk"

	"github.com/flakeward/flakeward/coord"
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
func (c *client) get(ctx context.Context, k kind, path string) (claims.Entry, error) {
	found, err := ask(ctx, c, k, path, func(conn *gozk.Conn) (claims.Entry, error) {
		value, stat, err := conn.Get(path)
		if err != nil {
			return claims.Entry{}, err
		}
		return claims.Entry{Value: value, Version: versionOf(stat)}, nil
	})
	if errors.Is(err, gozk.ErrNoNode) {
		return claims.Entry{}, nil
	}
	return found, err
}

// sync makes what is read next at least as new as all that was answered before. A server may lag
// behind the leader, and so behind what another one told. ZooKeeper's own sync is not enough: a
// leader answers it before it has applied all that it has committed (LeaderZooKeeperServer makes
// its CommitProcessor without matchSyncs). A write has its place in the order of all writes, and is
// answered once those before it are applied. This one checks that there is a root, and changes
// nothing.
func (c *client) sync(ctx context.Context, k kind) error {
	_, err := ask(ctx, c, k+current, c.root, func(conn *gozk.Conn) ([]gozk.MultiResponse, error) {
		results, err := conn.Multi(&gozk.CheckVersionRequest{Path: c.root, Version: anyVersion})
		if verdict(err) || errors.Is(err, gozk.ErrNoAuth) {
			err = nil // a refusal has its place in the order, too; what is read next says what is wrong
		}
		return results, err
	})
	return err
}

// create makes a node that stays. One that is there already is verdict gozk.ErrNodeExists.
func (c *client) create(ctx context.Context, k kind, path string, value []byte) error {
	_, err := tell(ctx, c, k, path, func(conn *gozk.Conn) (string, error) {
		return conn.Create(path, value, gozk.FlagPersistent, c.access())
	})
	return err
}

// makeMissing makes the nodes that are not there, in that order. To ask first is not
// only quicker: to see a node takes no access to it.
func (c *client) makeMissing(ctx context.Context, paths []string) error {
	for _, path := range paths {
		there, err := c.exists(ctx, kindTree, path)
		if err == nil && !there {
			err = c.create(ctx, kindTree, path, nil)
		}
		switch {
		case err == nil, errors.Is(err, gozk.ErrNodeExists):
		case errors.Is(err, coord.ErrAccess) && !there:
			return fmt.Errorf("%w; to make it takes access to what is above it: a parent that several users share is for an administrator to make", err)
		default:
			return fmt.Errorf("%s: %s: %s: %w", c.name, kindTree, path, err)
		}
	}
	return nil
}

// shut returns an error if the tree is to be a user's alone and somebody else has left
// one of these nodes open: whoever may delete the layout ends every daemon, and whoever
// may write a record lowers it. What the store makes is shut; the chroot may have been
// there before, and all of it when no user was configured yet.
func (c *client) shut(ctx context.Context, paths []string) error {
	if c.servers.User == "" {
		return nil
	}
	return each(ctx, len(paths), func(ctx context.Context, i int) error {
		acl, err := ask(ctx, c, kindAccess, paths[i], func(conn *gozk.Conn) ([]gozk.ACL, error) {
			acl, _, err := conn.GetACL(paths[i])
			return acl, err
		})
		if verdict(err) { // somebody is making or wiping the tree
			return nil
		}
		if err != nil {
			return err
		}
		for _, entry := range acl {
			if entry.Scheme == "world" && entry.Perms&^gozk.PermRead != 0 {
				return fmt.Errorf("%s: %s: %s is open to everybody, so a user and password protect nothing: "+
					"shut it with zkCli's `setAcl -R %s auth::cdrwa` after an `addauth digest`, or give a chroot that is not there yet: %w",
					c.name, kindAccess, paths[i], c.root, claims.ErrRefused)
			}
		}
		return nil
	})
}

// children lists the names of the nodes below one; none if that is not there.
func (c *client) children(ctx context.Context, k kind, path string) ([]string, error) {
	names, err := ask(ctx, c, k, path, func(conn *gozk.Conn) ([]string, error) {
		names, _, err := conn.Children(path)
		return names, err
	})
	if errors.Is(err, gozk.ErrNoNode) {
		return nil, nil
	}
	return names, err
}

// exists reports whether a node is there.
func (c *client) exists(ctx context.Context, k kind, path string) (bool, error) {
	return ask(ctx, c, k, path, func(conn *gozk.Conn) (bool, error) {
		there, _, err := conn.Exists(path)
		return there, err
	})
}

func (c *client) errChanging(ctx context.Context, k kind) error {
	return fmt.Errorf("%s: %s: the tree below %s keeps changing: %w", c.name, k, c.root, ctx.Err())
}
