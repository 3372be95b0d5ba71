package zk

import (
	gozk "github.com/go-zookeeper/zk"
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
