// Package tree is a simulated coordinator: the tree that the servers keep, as etcd or as ZooKeeper
// would, and a claims.Store on it. Requests take place one at a time and at once; whatever can go
// wrong on the way to the servers and back is the carrier's.
package tree

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/flakeward/flakeward/coord/claims"
)

// Kind is whose manners the servers have.
type Kind int

// The kinds.
const (
	// Etcd has one revision for all keys, and reads what an opening depends on together with the
	// claim's making.
	Etcd Kind = iota
	// ZooKeeper has a version for each node, and reads later what an opening depends on.
	ZooKeeper
)

// Tree is what the servers keep.
type Tree struct {
	kind     Kind
	revision int64
	seq      uint64
	layout   claims.Entry
	claims   []claim // in the order of their making
	records  map[int]claims.Entry
	recorded []int // the worker IDs that have one, in order; behind after a first record
	history  map[int]claims.Entry
	hosts    map[string]claims.Entry // by their keys
	sessions map[int64]bool
	session  int64 // the last one's number

	// Unfenced makes the servers store every write of a record, whoever wrote it before. No daemon
	// is promised to survive that.
	Unfenced bool
	// Stored is called after each write of a record; it may be nil.
	Stored func(worker int, value []byte)
	// Deleted is called with the name and the incarnation of each claim that somebody deletes; it
	// may be nil.
	Deleted func(name, incarnation string)
	// Opened is called for each new session; it may be nil.
	Opened func(session int64)
}

type claim struct {
	claims.Node
	session int64
}

// New returns an empty tree.
func New(kind Kind) *Tree {
	return &Tree{
		kind:     kind,
		records:  map[int]claims.Entry{},
		history:  map[int]claims.Entry{},
		hosts:    map[string]claims.Entry{},
		sessions: map[int64]bool{},
	}
}

// Clone is a backup of the tree.
func (t *Tree) Clone() *Tree {
	c := *t
	c.claims = slices.Clone(t.claims)
	c.records, c.history, c.hosts, c.sessions = maps.Clone(t.records), maps.Clone(t.history), maps.Clone(t.hosts), maps.Clone(t.sessions)
	return &c
}

// Restore puts a backup in the tree's place. Sessions that it does not know are gone, and their
// numbers are not given again.
func (t *Tree) Restore(backup *Tree) {
	was := *t
	*t = *backup.Clone()
	t.session, t.Stored, t.Deleted, t.Opened, t.Unfenced = was.session, was.Stored, was.Deleted, was.Opened, was.Unfenced
}

// Wipe deletes everything. A tree of ZooKeeper's starts to count anew.
func (t *Tree) Wipe() {
	was := *t
	*t = *New(was.kind)
	t.session, t.Stored, t.Deleted, t.Opened, t.Unfenced = was.session, was.Stored, was.Deleted, was.Opened, was.Unfenced
	if t.kind == Etcd {
		t.revision = was.revision + 1
	}
}

// End ends a session, which deletes its claims.
func (t *Tree) End(session int64) {
	if !t.sessions[session] {
		return
	}
	delete(t.sessions, session)
	t.claims = slices.DeleteFunc(t.claims, func(c claim) bool { return c.session == session })
	t.revision++
}

// Sessions are those that there are, in order.
func (t *Tree) Sessions() []int64 { return slices.Sorted(maps.Keys(t.sessions)) }

// Claims is how many claims there are.
func (t *Tree) Claims() int { return len(t.claims) }

// Claimed are the worker IDs that there is a claim for.
func (t *Tree) Claimed() map[int]bool {
	claimed := map[int]bool{}
	for _, c := range t.claims {
		claimed[c.Worker] = true
	}
	return claimed
}

// Layout is the cluster record's value; nil if there is none.
func (t *Tree) Layout() []byte { return t.layout.Value }

// Record is a worker ID's.
func (t *Tree) Record(worker int) []byte { return t.records[worker].Value }

// next is the version of an entry that is written now in the place of one.
func (t *Tree) next(of claims.Entry) int64 {
	t.revision++
	if t.kind == ZooKeeper {
		return of.Version + 1
	}
	return t.revision
}

func (t *Tree) open() int64 {
	t.session++
	t.sessions[t.session] = true
	if t.Opened != nil {
		t.Opened(t.session)
	}
	return t.session
}

func (t *Tree) join(value []byte) claims.Entry {
	if t.layout.Version == 0 {
		t.layout = claims.Entry{Value: value, Version: t.next(t.layout)}
	}
	return t.layout
}

// in reports whether the cluster record is still that one.
func (t *Tree) in(layout claims.Entry) bool {
	return t.layout.Version != 0 && bytes.Equal(t.layout.Value, layout.Value)
}

func (t *Tree) nextNumber() uint64 {
	t.revision++
	t.seq++
	return t.seq - 1
}

// add makes a claim node unless its session is gone or it is there already: then the very same
// request was sent twice.
func (t *Tree) add(session int64, n claims.Node) (made claims.Node, ok bool) {
	if !t.sessions[session] {
		return n, false
	}
	for _, c := range t.claims {
		if c.Name == n.Name {
			return c.Node, true
		}
	}
	t.revision++
	n.Created = t.revision
	t.claims = append(t.claims, claim{Node: n, session: session})
	return n, true
}

// depends is what an opening of a claim's worker ID depends on.
func (t *Tree) depends(n claims.Node) claims.Created {
	made := claims.Created{Node: n, Record: t.records[n.Worker], History: t.history[n.Worker]}
	made.Value = nil
	for _, c := range t.claims {
		if c.Worker == n.Worker && c.Created < n.Created {
			made.Before = append(made.Before, c.Node)
		}
	}
	return made
}

// read returns what a key has.
func (t *Tree) read(key string) claims.Entry {
	folder, name, _ := strings.Cut(key, "/")
	worker, _ := claims.ParseWorker(name)
	switch folder {
	case claims.RecordsKey:
		return t.records[worker]
	case claims.HistoryKey:
		return t.history[worker]
	default:
		return t.hosts[key]
	}
}

func (t *Tree) has(n claims.Node) bool {
	return slices.ContainsFunc(t.claims, func(c claim) bool { return c.Name == n.Name && c.Created == n.Created })
}

func (t *Tree) write(w claims.Write) claims.Written {
	record, worker := t.records[w.Worker], w.Worker
	claimed := slices.ContainsFunc(t.claims, func(c claim) bool { return c.Name == w.Claim })
	if !t.Unfenced && (record.Version != w.Record.Version || w.History.Value != nil && t.history[worker].Version != w.History.Version) {
		return claims.Written{Record: record, Claimed: claimed}
	}
	version := t.next(record)
	t.records[worker] = claims.Entry{Value: w.Record.Value, Version: version}
	if w.Host != "" {
		t.hosts[claims.HostOf(w.Host)] = claims.Entry{Value: decimal(worker), Version: version}
	}
	if before := claims.HostOf(w.Before); string(t.hosts[before].Value) == string(decimal(worker)) {
		delete(t.hosts, before)
	}
	if w.History.Value != nil {
		v := version
		if t.kind == ZooKeeper {
			v = w.History.Version + 1
		}
		t.history[worker] = claims.Entry{Value: w.History.Value, Version: v}
	}
	if w.Delete && claimed {
		t.delete(w.Claim)
	}
	if t.Stored != nil {
		t.Stored(worker, w.Record.Value)
	}
	return claims.Written{Stored: true, Record: t.records[worker], Claimed: claimed}
}

func (t *Tree) delete(name string) {
	t.revision++
	t.claims = slices.DeleteFunc(t.claims, func(c claim) bool {
		if c.Name == name && t.Deleted != nil {
			t.Deleted(name, c.Incarnation)
		}
		return c.Name == name
	})
}

// some are the first records of the worker IDs from begin on and before end.
func (t *Tree) some(begin, end, most int) (workers []int, found []claims.Entry) {
	if len(t.recorded) != len(t.records) { // no record is ever deleted
		t.recorded = slices.Sorted(maps.Keys(t.records))
	}
	first, _ := slices.BinarySearch(t.recorded, begin)
	for _, worker := range t.recorded[first:] {
		if worker >= end || len(workers) == most {
			break
		}
		workers, found = append(workers, worker), append(found, t.records[worker])
	}
	return workers, found
}

// list are the claims.
func (t *Tree) list() []claims.Node {
	found := make([]claims.Node, len(t.claims))
	for i, c := range t.claims {
		found[i] = c.Node
	}
	return found
}
