package claims

import (
	"crypto/sha256"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/flakeward/flakeward/coord"
)

// The keys of a tree, below its root:
//
//	layout              the cluster record
//	claims/<name>       a claim node
//	workers/<id>        the record of a worker ID
//	history/<id>        who held a worker ID
//	hosts/<host>        the worker ID that a host had last
const (
	ClusterKey = "layout"
	ClaimsKey  = "claims"
	RecordsKey = "workers"
	HistoryKey = "history"
	HostsKey   = "hosts"
)

// ClaimOf is the key of a claim node.
func ClaimOf(name string) string { return ClaimsKey + "/" + name }

// RecordOf is the key of a worker ID's record.
func RecordOf(worker int) string { return RecordsKey + "/" + Pad(worker) }

// HistoryOf is the key of a worker ID's history.
func HistoryOf(worker int) string { return HistoryKey + "/" + Pad(worker) }

// longest is how many bytes of a host's name are in its key: a file's name may have 255.
const longest = 200

// HostOf is the key of a host's preference. A slash in a host's name must lead to no other key,
// dots alone are no name of a file or a node, and of a name that is too long its sum stands there.
func HostOf(host string) string {
	escaped := url.PathEscape(host)
	switch {
	case strings.Trim(escaped, ".") == "":
		escaped = strings.ReplaceAll(escaped, ".", "%2E")
	case len(escaped) > longest:
		escaped = fmt.Sprintf("%%-%x", sha256.Sum256([]byte(host))) // no name is escaped to that
	}
	return HostsKey + "/" + escaped
}

// workerWidth is enough for coord.MaxWorkers: padded to that, worker IDs sort as numbers do.
const workerWidth = 7

// Pad is a worker ID as keys have it.
func Pad(worker int) string { return fmt.Sprintf("%0*d", workerWidth, worker) }

// ParseWorker is the inverse of Pad.
func ParseWorker(s string) (int, bool) {
	worker, err := strconv.ParseUint(s, 10, 31)
	return int(worker), err == nil && worker < coord.MaxWorkers && Pad(int(worker)) == s
}

// nameOf is the name of a claim node, as far as it is the same in every store: the worker ID, which
// comes first so that the claims on one stand together, the incarnation and the token. By the token
// it is a name that no other node ever has, also in a tree that was deleted and created again.
func nameOf(worker int, incarnation, token string) string {
	return Pad(worker) + "-" + incarnation + "-" + token
}

// ParseName returns what a claim node's name tells, or false for one that is nobody's claim.
// Created is the number that a store has appended, after a dash; else it is 0.
func ParseName(name string) (Node, bool) {
	parts := strings.SplitN(name, "-", 4)
	if len(parts) < 3 || !ValidToken(parts[1]) || !ValidToken(parts[2]) {
		return Node{}, false
	}
	worker, ok := ParseWorker(parts[0])
	n := Node{Name: name, Worker: worker, Incarnation: parts[1], Token: parts[2]}
	if len(parts) == 4 {
		var err error
		n.Created, err = strconv.ParseInt(parts[3], 10, 64)
		ok = ok && err == nil
	}
	return n, ok
}
