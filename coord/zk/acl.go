package zk

import (
	"context"
	"fmt"

	gozk "github.com/go-zookeeper/zk"

	"github.com/flakeward/flakeward/coord/claims"
)

// accessOf returns the ACL of every node that is made: with a user, that user and
// nobody else may read and change it; else everybody may. It names the user by the
// digest that ZooKeeper keeps, so it does not depend on what the connection is
// logged in as.
func accessOf(servers Servers) []gozk.ACL {
	if servers.User == "" {
		return gozk.WorldACL(gozk.PermAll)
	}
	return gozk.DigestACL(gozk.PermAll, servers.User, servers.Password)
}

// shut returns an error if the tree is to be a user's alone and somebody else has
// left it open: whoever may delete the layout ends every daemon, and whoever may
// write a record lowers it. What the store makes is shut; the chroot may have been
// there before, and all of it when no user was configured yet.
func (s *store) shut(ctx context.Context) error {
	if s.servers.User == "" {
		return nil
	}
	paths := []string{s.root, s.layout(), s.claims(), s.workers(), s.path("hosts"), s.path("history")}
	return each(ctx, len(paths), func(ctx context.Context, i int) error {
		acl, err := ask(ctx, s, kindAccess, paths[i], func(conn *gozk.Conn) ([]gozk.ACL, error) {
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
					s.name, kindAccess, paths[i], s.root, claims.ErrRefused)
			}
		}
		return nil
	})
}
