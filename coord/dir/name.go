package dir

import (
	"crypto/sha256"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/claims"
)

// The widths of the numbers in names, which sort as numbers do: that of a sequence number, and one
// enough for coord.MaxWorkers.
const (
	numberWidth = 10
	workerWidth = 7
)

func pad(worker int) string       { return fmt.Sprintf("%0*d", workerWidth, worker) }
func recordOf(worker int) string  { return "workers/" + pad(worker) }
func historyOf(worker int) string { return "history/" + pad(worker) }
func claimOf(name string) string  { return "claims/" + name }

// longest is how many bytes of a host's name are in the name of a file, which may have 255.
const longest = 200

// hostOf is the file of a host's preference. A slash in a host's name must lead to no other file,
// dots alone are no file's name, and of a name that is too long its sum stands there.
func hostOf(host string) string {
	escaped := url.PathEscape(host)
	switch {
	case strings.Trim(escaped, ".") == "":
		escaped = strings.ReplaceAll(escaped, ".", "%2E")
	case len(escaped) > longest:
		escaped = fmt.Sprintf("%%-%x", sha256.Sum256([]byte(host))) // no name is escaped to that
	}
	return "hosts/" + escaped
}

// nameOf is the name of a claim: its sequence number, worker ID, incarnation and token.
func nameOf(n claims.Node) string {
	return fmt.Sprintf("%0*d-%s-%s-%s", numberWidth, n.Created, pad(n.Worker), n.Incarnation, n.Token)
}

// parseName is the inverse of nameOf.
func parseName(name string) (claims.Node, bool) {
	parts := strings.Split(name, "-")
	if len(parts) != 4 || !claims.ValidToken(parts[2]) || !claims.ValidToken(parts[3]) {
		return claims.Node{}, false
	}
	number, counting := strconv.ParseInt(parts[0], 10, 64)
	worker, ok := parseWorker(parts[1])
	n := claims.Node{Name: name, Worker: worker, Incarnation: parts[2], Token: parts[3], Created: number}
	if counting != nil || number < 1 || !ok || nameOf(n) != name {
		return claims.Node{}, false
	}
	return n, true
}

// parseWorker is the inverse of pad.
func parseWorker(s string) (int, bool) {
	worker, err := strconv.ParseUint(s, 10, 31)
	return int(worker), err == nil && worker < coord.MaxWorkers && pad(int(worker)) == s
}

// Name implements claims.Store.
func (s *store) Name() string { return "dir (" + s.config.Path + ")" }

// Path implements claims.Store.
func (s *store) Path(what string) string {
	if what == "layout" {
		what = clusterName
	}
	below, id, _ := strings.Cut(what, "/")
	if worker, err := strconv.Atoi(id); err == nil {
		what = below + "/" + pad(worker)
	}
	return filepath.Join(s.config.Path, what)
}

// Parse implements claims.Store. What it tells of the order of nodes, listings tell as well.
func (s *store) Parse(name string) (claims.Node, bool) {
	n, ok := parseName(name)
	n.Created = 0
	return n, ok
}
