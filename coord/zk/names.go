package zk

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/flakeward/flakeward/coord/claims"
)

// tree builds the paths of one tree. Its root is the chroot: an absolute path that
// does not end in a slash.
//
//	layout              the cluster's layout and UUID
//	layout/<token>      no value; its name makes this layout one of a kind
//	claims/<name>       a claim node: ephemeral and sequential
//	workers/<id>        the record of a worker ID
//	hosts/<host>        the worker ID that a host had last
//	history/<id>        who held a worker ID
//
// Worker IDs are padded to seven digits, enough for coord.MaxWorkers.
type tree struct{ root string }

func (t tree) path(what string) string   { return t.root + "/" + what }
func (t tree) layout() string            { return t.path("layout") }
func (t tree) token(name string) string  { return t.path("layout/" + name) }
func (t tree) claims() string            { return t.path("claims") }
func (t tree) claim(name string) string  { return t.path("claims/" + name) }
func (t tree) workers() string           { return t.path("workers") }
func (t tree) record(worker int) string  { return t.path("workers/" + pad(worker)) }
func (t tree) history(worker int) string { return t.path("history/" + pad(worker)) }

// host escapes the name: a slash in it must not lead to another node, and dots
// alone are no name of a node.
func (t tree) host(name string) string {
	escaped := url.PathEscape(name)
	if strings.Trim(escaped, ".") == "" {
		escaped = strings.ReplaceAll(escaped, ".", "%2E")
	}
	return t.path("hosts/" + escaped)
}

// folders are the nodes that others are made below, in the order of their making.
func (t tree) folders() []string {
	var all []string
	for i, c := range t.root {
		if c == '/' && i > 0 {
			all = append(all, t.root[:i])
		}
	}
	return append(all, t.root, t.claims(), t.workers(), t.path("hosts"), t.path("history"))
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

const padding = 7

func pad(worker int) string { return fmt.Sprintf("%0*d", padding, worker) }

func unpad(s string) (int, bool) { return digits(s, padding) }

// digits reads a number that is written with just that many decimal digits.
func digits(s string, n int) (int, bool) {
	if len(s) != n || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	number, err := strconv.ParseUint(s, 10, 31)
	return int(number), err == nil
}

// The names of claim nodes:
//
//	<7 digits>-s-<incarnation>-<token>-<number>     names the worker ID itself
//	d-<incarnation>-<token>-<number>                its number assigns the worker ID
//
// The number is the sequence number that ZooKeeper appends. The token makes the
// name one that no other node ever has, also in a tree that was made anew, where
// the numbers start over, and beyond their end, where they repeat.
const (
	sticky   = "s"
	assigned = "d"
)

// lastNumber is the last number that names a worker ID. ZooKeeper counts with 32
// bits and a sign: at 2^31-1 the counter stays or turns negative, so whoever gets
// that or less than nothing has not been counted.
const lastNumber = 1<<31 - 2

// prefixOf is the name of a new claim node up to its number.
func prefixOf(claim claims.Claimant, incarnation string) string {
	if claim.Worker == claims.BySequence {
		return strings.Join([]string{assigned, incarnation, claim.Token, ""}, "-")
	}
	return strings.Join([]string{pad(claim.Worker), sticky, incarnation, claim.Token, ""}, "-")
}

// parseAny takes a claim node's name apart, whatever its number; counted is whether
// the number is one that assigns.
func parseAny(name string) (node claims.Node, counted, ok bool) {
	node = claims.Node{Name: name, Worker: claims.BySequence}
	rest, isAssigned := strings.CutPrefix(name, assigned+"-")
	if !isAssigned {
		worker, tail, found := strings.Cut(name, "-"+sticky+"-")
		if node.Worker, ok = unpad(worker); !ok || !found {
			return claims.Node{}, false, false
		}
		rest = tail
	}
	parts := strings.SplitN(rest, "-", 3)
	if len(parts) != 3 || !claims.ValidToken(parts[0]) || !claims.ValidToken(parts[1]) || !validSuffix(parts[2]) {
		return claims.Node{}, false, false
	}
	node.Incarnation, node.Token = parts[0], parts[1]
	if number, plain := digits(parts[2], 10); plain && number <= lastNumber {
		node.Number, counted = uint64(number), true
	}
	return node, counted, true
}

// parseName takes apart the name of a claim node that names a worker ID.
func parseName(name string) (claims.Node, bool) {
	node, counted, ok := parseAny(name)
	if !ok || node.Worker == claims.BySequence && !counted {
		return claims.Node{}, false
	}
	return node, true
}

// validSuffix reports whether ZooKeeper appends this: a number in ten digits, or a
// negative one.
func validSuffix(s string) bool {
	if negative, ok := strings.CutPrefix(s, "-"); ok {
		return len(negative) >= 9 && len(negative) <= 10 && strings.Trim(negative, "0123456789") == ""
	}
	_, ok := digits(s, 10)
	return ok
}
