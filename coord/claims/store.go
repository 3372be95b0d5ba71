package claims

import (
	"context"
	"errors"
	"fmt"

	"github.com/flakeward/flakeward/coord"
)

// Store is a coordinator's tree as one session sees it: a few reads and writes of plain bytes, each
// of which is fenced by the cluster record. What the bytes mean, and who may hold what, is decided
// above it, in Coordinator, the same for every back-end.
//
// All methods are safe for concurrent use and return soon after their context ends. The others are
// called only after Make or Look has returned an Entry; all of them answer coord.ErrClosed,
// wrapped, after Close. Errors name the servers, what was asked of them, and what the reader can
// do; an error of a writing method leaves open whether the write takes place, now or later. One
// that the servers refused, and will refuse again, wraps ErrRefused.
//
// A method that takes the cluster record does its work only if that is still stored;
// otherwise it does nothing and returns *MovedError.
type Store interface {
	// Name is how errors call the servers, such as "etcd (h1:2379, h2:2379)".
	Name() string

	// Path is where a key is stored, for errors.
	Path(key string) string

	// Look returns the cluster record; its Version is 0 if there is none.
	Look(ctx context.Context) (layout Entry, err error)

	// LookAnew is Look for one who was refused everything else: it does not mind that
	// the servers have gone back to an earlier state, and where they turn this session
	// away for that, it asks on another one, which is ended again.
	LookAnew(ctx context.Context) (layout Entry, err error)

	// Make stores the cluster record unless there is one, and returns the one that is stored then.
	Make(ctx context.Context, layout []byte) (stored Entry, err error)

	// Replace stores a cluster record in the place of one, and returns it as stored.
	Replace(ctx context.Context, layout Entry, value []byte) (stored Entry, err error)

	// Number draws a sequence number. Those that are drawn one after the other differ by one. It is
	// a hint: after a restore or a power cut a number may be drawn once more.
	Number(ctx context.Context, layout Entry) (uint64, error)

	// Create makes a claim node under the session, after opening a session if
	// there is none, and reads what its worker ID's opening depends on.
	Create(ctx context.Context, layout Entry, claim Node) (Created, error)

	// Write stores a record if that is still at the version which the writer saw last, and
	// reports what it found if it is not.
	Write(ctx context.Context, layout Entry, w Write) (Written, error)

	// Delete deletes a claim node; one that is not there is no error.
	Delete(ctx context.Context, name string) error

	// Claims lists all claim nodes. Their Created and Value are set only with values, which may
	// take a request for each.
	Claims(ctx context.Context, layout Entry, values bool) ([]Node, error)

	// Records calls visit with each record, in the order of their worker IDs, those from
	// the worker ID from on and then those before it, until visit returns false. It reads
	// little more than what visit gets, and may read that in parts, each as it is then. An
	// error voids what visit got.
	Records(ctx context.Context, layout Entry, from int, visit func(worker int, record Entry) bool) error

	// Read returns what is stored under a key, as the newest state of the coordinator has it.
	Read(ctx context.Context, layout Entry, key string) (Entry, error)

	// Close ends the session, which deletes its claim nodes, and waits for
	// everything that the store has started.
	Close() error
}

// Entry is a persistent value with the version that it has; the version is 0 if
// there is none, and changes with each write.
type Entry struct {
	Value   []byte
	Version int64
}

// ErrRefused means that the servers refuse what was asked: to ask again soon is of no use.
var ErrRefused = errors.New("refused")

// ErrGone means that a claim node was deleted as soon as it was made.
var ErrGone = errors.New("it is gone already: its session ended, or somebody deleted it; it is tried again later")

// MovedError means that the cluster record is not the one that the caller knows.
type MovedError struct {
	Found Entry // Version 0: there is none
	// Restored is set if the same answer showed that the servers have gone back to an earlier
	// state. It is the error of the call unless Found is another cluster's.
	Restored *coord.RestoredError
}

func (e *MovedError) Error() string {
	return fmt.Sprintf("the cluster record is another one now: %q", e.Found.Value)
}

// Node is a claim node, as its name tells: see ParseName. Of one that is to be made, Name is what
// the store may append a dash and a number to.
type Node struct {
	Name        string
	Worker      int
	Incarnation string
	// Token is random, so no two nodes ever have one name.
	Token string
	// Created orders nodes by their creation: etcd's create revision, or the number that the name
	// ends in.
	Created int64
	Value   []byte
}

// Created is a claim node that was made.
type Created struct {
	Node
	// Before are the nodes on the same worker ID that were created earlier and
	// were there when this one was made or later.
	Before []Node
	// Record and History are the worker ID's as they were then or later.
	Record  Entry
	History Entry
}

// Write is a write of a record.
type Write struct {
	Doing  string // what it is for, in errors: "extend a grant"
	Worker int
	// Claim is the name of the writer's claim node, which decides nothing: see Written.Claimed.
	// Empty if it never had one.
	Claim  string
	Record Entry // the new value, and the version that it replaces; 0: there must be none
	// Host, if not empty, is the host whose preference this worker ID becomes.
	Host string
	// Before, if not empty, is the host that had this worker ID before: its preference is deleted,
	// if that is for this worker ID.
	Before string
	// History, if its Value is not nil, is stored as the worker ID's history in the
	// place of that version.
	History Entry
	// Delete deletes the claim node in the same step, if it is there.
	Delete bool
}

// Written is what became of a Write.
type Written struct {
	// Stored is true if all of it was stored, and Record.Version is the record's
	// version then. Otherwise nothing was, and the rest is what was found; it may be
	// just what the Write wanted if only the history was another.
	Stored bool
	Record Entry
	// Claimed is whether the writer's claim node was there.
	Claimed bool
}
