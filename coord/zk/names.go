package zk

import (
	"fmt"
	"strings"

	"github.com/flakeward/flakeward/coord/claims"
)

// tree builds the paths of one tree, by the keys of package claims. Its root is the chroot: an
// absolute path that does not end in a slash. The layout has a child, layout/<checksum>, without
// a value.
type tree struct{ root string }

func (t tree) path(key string) string    { return t.root + "/" + key }
func (t tree) layout() string            { return t.path(claims.ClusterKey) }
func (t tree) token(value []byte) string { return t.path(claims.ClusterKey + "/" + tokenOf(value)) }
func (t tree) claims() string            { return t.path(claims.ClaimsKey) }
func (t tree) claim(name string) string  { return t.path(claims.ClaimOf(name)) }
func (t tree) workers() string           { return t.path(claims.RecordsKey) }

// folders are the nodes that others are made below, in the order of their making.
func (t tree) folders() []string {
	var all []string
	for i, c := range t.root {
		if c == '/' && i > 0 {
			all = append(all, t.root[:i])
		}
	}
	return append(all, t.root, t.claims(), t.workers(), t.path(claims.HostsKey), t.path(claims.HistoryKey))
}

// CheckChroot returns why ZooKeeper has no such chroot.
func CheckChroot(chroot string) error {
	_, err := parseRoot(chroot)
	return err
}

// parseRoot checks a chroot, which may lack the first slash.
func parseRoot(chroot string) (tree, error) {
	root := "/" + strings.Trim(chroot, "/")
	if root == "/" {
		root = DefaultChroot
	}
	for i, part := range strings.Split(root[1:], "/") {
		if part == "" || part == "." || part == ".." || i == 0 && part == "zookeeper" {
			return tree{}, fmt.Errorf("zk: the chroot %q has a part %q, which ZooKeeper forbids or keeps for itself; use one such as %s", chroot, part, DefaultChroot)
		}
		for _, c := range part {
			if c <= ' ' || c >= 0x7f {
				return tree{}, fmt.Errorf("zk: the chroot %q has a character other than printable ASCII; use one such as %s", chroot, DefaultChroot)
			}
		}
	}
	return tree{root: root}, nil
}
