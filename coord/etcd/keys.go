package etcd

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/flakeward/flakeward/coord/claims"
)

// keys builds the keys of one tree. The tree's root ends in a slash.
//
//	layout              the cluster's layout and UUID
//	seq                 the counter: its version is how many numbers were drawn
//	claims/<name>       a claim node, attached to its session's lease
//	workers/<id>        the record of a worker ID
//	hosts/<host>        the worker ID that a host had last
//	history/<id>        who held a worker ID
//
// Worker IDs are padded to seven digits, enough for coord.MaxWorkers, so that
// keys sort as numbers do.
type keys struct{ root string }

func (k keys) layout() string           { return k.root + "layout" }
func (k keys) seq() string              { return k.root + "seq" }
func (k keys) claims() string           { return k.root + "claims/" }
func (k keys) claim(name string) string { return k.claims() + name }
func (k keys) workers() string          { return k.root + "workers/" }
func (k keys) record(worker int) string { return k.workers() + pad(worker) }

func (k keys) history(worker int) string { return k.root + "history/" + pad(worker) }

// path is the key of what claims.Store.Path is asked for.
func (k keys) path(what string) string {
	dir, id, _ := strings.Cut(what, "/")
	if worker, err := strconv.Atoi(id); err == nil {
		return k.root + dir + "/" + pad(worker)
	}
	return k.root + what
}

// claimsOn is the prefix of all claim nodes that name the worker ID.
func (k keys) claimsOn(worker int) string { return k.claims() + pad(worker) + "-" }

// host escapes the name: a slash in it must not lead to another key.
func (k keys) host(name string) string { return k.root + "hosts/" + url.PathEscape(name) }

// nameOf is the inverse of claim.
func (k keys) nameOf(key string) string { return strings.TrimPrefix(key, k.claims()) }

// workerOf is the inverse of record.
func (k keys) workerOf(key string) (int, bool) {
	digits, ok := strings.CutPrefix(key, k.workers())
	if !ok {
		return 0, false
	}
	return unpad(digits)
}

const padding = 7

func pad(worker int) string { return fmt.Sprintf("%0*d", padding, worker) }

func unpad(s string) (int, bool) {
	if len(s) != padding {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 31)
	return int(n), err == nil
}

// nodeName is the name of a claim node: worker ID, how it was come by,
// incarnation and nonce, joined by dashes. The worker ID comes first, so that one
// small range read finds all claims on it. The incarnation and the nonce make the
// name one that no other claim ever has, also in a tree that was wiped and made
// anew; the sequence number is there for the reader only.
type nodeName struct {
	worker      int
	number      string // the sequence number, or "s" for a sticky claim
	incarnation string
	nonce       string
}

const sticky = "s"

func (n nodeName) String() string {
	return pad(n.worker) + "-" + n.number + "-" + n.incarnation + "-" + n.nonce
}

func parseName(s string) (nodeName, bool) {
	parts := strings.Split(s, "-")
	if len(parts) != 4 {
		return nodeName{}, false
	}
	worker, ok := unpad(parts[0])
	if !ok || !validNumber(parts[1]) || !claims.ValidToken(parts[2]) || !claims.ValidToken(parts[3]) {
		return nodeName{}, false
	}
	return nodeName{worker: worker, number: parts[1], incarnation: parts[2], nonce: parts[3]}, true
}

func validNumber(s string) bool {
	if s == sticky {
		return true
	}
	n, err := strconv.ParseUint(s, 10, 63)
	return err == nil && strconv.FormatUint(n, 10) == s
}

// node is what the name tells.
func (n nodeName) node() claims.Node {
	return claims.Node{Name: n.String(), Worker: n.worker, Incarnation: n.incarnation, Token: n.nonce}
}
