package coord

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flakeward/flakeward/generator"
)

// Operator inspects a cluster and repairs what no daemon can. It holds no worker ID. All
// methods are safe for concurrent use and return soon after their context ends.
type Operator interface {
	// Inspect joins the cluster that is there, whatever its layout, and never makes
	// one: without a cluster record it returns ErrNoCluster. It comes before the
	// other methods, which answer ErrNotJoined until then.
	Inspect(ctx context.Context) (Inspected, error)

	// Create makes a cluster where there is none. Where one is, it changes nothing and returns
	// that. After an error the outcome is unknown; to do it twice does no harm. Inspect comes after
	// it.
	Create(ctx context.Context, cluster NewCluster) (Created, error)

	// Members is Coordinator.Members.
	Members(ctx context.Context) ([]Member, error)

	// Marks returns the records of all worker IDs that were ever held, in order.
	Marks(ctx context.Context) ([]Mark, error)

	// Raise lifts the ceiling of every worker ID, also of those without a record, to at least the
	// tick, in one step. Every claim that was opened before is lost: it may have been granted more
	// than a coordinator that was restored from a backup knows of.
	Raise(ctx context.Context, to generator.Tick) (Raised, error)

	// NewUUID gives the cluster that is there another UUID, which it returns, and another cluster
	// epoch, in one step: a copy of a cluster, restored from its backup, is then another cluster.
	// Whoever has joined it before is answered ErrOtherCluster from then on. The records stay. Over
	// this connection no host gets back the worker ID that it had last: that was in the original.
	// Inspect comes next. After an error the outcome is unknown; to do it twice does no harm.
	NewUUID(ctx context.Context) (uuid string, err error)

	// Widen has the cluster assign the worker IDs of a range that has all of those which it
	// assigns now. None that is added is issued from at or below the tick above. Claims and grants
	// stay. *NarrowError, and nothing is written, if the range
	// lacks one of them. After another error the outcome is unknown; to do it twice does no harm.
	Widen(ctx context.Context, to WorkerRange, above generator.Tick) error

	// SetWindow sets how far beyond its clock a daemon asks for ceilings at most, in ticks. Daemons
	// learn it with their next write. After an error the outcome is unknown; to do it twice does no
	// harm.
	SetWindow(ctx context.Context, window generator.Tick) error

	// TrustClock confirms that the time is at. A clock that is held and is within a window of it is
	// followed. Daemons learn it with their next request. To do it twice does no harm.
	TrustClock(ctx context.Context, at generator.Tick) error

	// Export writes into the cluster record that the cluster was exported, and returns all of it:
	// from then on nothing is granted here, and every other call answers *NotServedError. Grants
	// that were acknowledged hold. Done again it returns the same bytes. Inspect need not come
	// first.
	Export(ctx context.Context) ([]byte, error)

	// Import makes the cluster of an export where there is none, with its UUID, its records and
	// their histories. It is served once all is there. To do it again after an error goes on with
	// it. ErrExport for bytes that are no whole export, and ErrNotEmpty where something else is:
	// then nothing that is there is changed. Inspect comes after it.
	Import(ctx context.Context, export []byte) error

	// Clear deletes a claim's node, which frees its worker ID. The daemon that
	// holds it, if there is one, keeps grant and record, and makes the claim again unless another
	// has claimed the worker ID by then. ErrNoClaim if no claim has that name.
	Clear(ctx context.Context, claim string) error

	// History returns who held the worker ID, the oldest first, as far back as it is kept.
	History(ctx context.Context, worker int) ([]HolderInterval, error)

	// Close ends the connection and waits for all that it started.
	Close() error
}

// NewCluster is what a cluster is made with.
type NewCluster struct {
	Text    string // Layout.Text
	Workers int    // Layout.Workers
	// Window is Cluster.Window.
	Window generator.Tick
	// Range are the worker IDs that are assigned; the zero value: all.
	Range WorkerRange
	// Floor is the tick that nothing is issued at or below.
	Floor generator.Tick
}

// Created is the cluster that is there after a Create.
type Created struct {
	Inspected
	Made bool // by this Create
}

// NarrowError means that a range lacks worker IDs that the cluster assigns: some may be held.
type NarrowError struct {
	Wanted  WorkerRange
	Cluster WorkerRange
}

func (e *NarrowError) Error() string {
	return fmt.Sprintf("the cluster assigns the worker IDs %v, and %v does not have all of them: worker IDs are added, and never taken away, since daemons may hold them",
		e.Cluster, e.Wanted)
}

// ErrNoCluster means that nobody has made a cluster there.
var ErrNoCluster = errors.New("there is no cluster; `flakeward cluster create` makes one")

// ErrExport means that bytes are no whole export of a cluster.
var ErrExport = errors.New("this is no whole export of a cluster")

// ErrNotEmpty means that a cluster cannot be imported where something else is.
var ErrNotEmpty = errors.New("nothing is imported where something is: name an empty prefix or chroot, or empty this one")

// NotServedError means that the cluster was exported from this coordinator, or is being imported:
// nothing is granted here. It is no loss: grants that were acknowledged hold, and whoever opens the
// record where the cluster is imported begins above them.
type NotServedError struct {
	Cluster   string // its UUID
	Importing bool   // else it was exported
}

func (e *NotServedError) Error() string {
	if e.Importing {
		return fmt.Sprintf("cluster %s is being imported here and is not served yet: if that was interrupted, run `flakeward cluster import` again with the same file", e.Cluster)
	}
	return fmt.Sprintf("cluster %s was exported from this coordinator, which grants nothing any more: import it with `flakeward cluster import`, and start the daemon with that coordinator as its --coord", e.Cluster)
}

// ErrNoClaim means that no claim has the name that was given.
var ErrNoClaim = errors.New("there is no claim of that name; see flakeward claims")

// RestoredError means that the coordinator has gone back to an earlier state, or is
// a copy of the one that was joined: claims and marks written since are unknown to it.
// It is final for this connection. Grants that were acknowledged hold, for they bind
// whoever issues from them; nothing new is granted.
type RestoredError struct {
	Why string // what showed it
}

func (e *RestoredError) Error() string {
	return fmt.Sprintf("the coordinator was restored from a backup or replaced by a copy (%s): "+
		"run `flakeward cluster raise`, then start this daemon again", e.Why)
}

// Inspected is what Inspect finds.
type Inspected struct {
	// Layout is the cluster's Layout.Text.
	Layout string
	// UUID is the cluster's.
	UUID string
	// Floor is the tick that nothing is issued at or below: that of the cluster's making, or the
	// one that all ceilings were raised to last.
	Floor generator.Tick
	// ClusterEpoch changes with each Raise; empty before the first.
	ClusterEpoch string
	// Window is Cluster.Window, and Longest the longest that it ever was: what a raise of all marks
	// has to reach beyond.
	Window, Longest generator.Tick
	// Range are the worker IDs that are assigned; the zero value: all.
	Range WorkerRange
}

// Mark is a worker ID's record.
type Mark struct {
	Worker int
	// Ceiling is the tick above which nothing was granted: the record's ceiling
	// or what all were raised to.
	Ceiling generator.Tick
	// Issued is what the last holder published.
	Issued generator.Tick
	// Holder is the ID of the last opening.
	Holder string
	// Claim is the name of the live claim that owns the worker ID; empty if none does.
	Claim string
	// Damaged is true if the record cannot be read: the worker ID is not assigned.
	Damaged bool
}

// Raised is what a Raise did.
type Raised struct {
	From generator.Tick // what all had been raised to before, 0 if never
	To   generator.Tick
	// Highest is the highest ceiling among the records, raised or not.
	Highest generator.Tick
}

// HolderInterval is where one opening of a worker ID may have issued.
type HolderInterval struct {
	// From is the tick above which this opening may have issued. Who issued a tick is the last
	// opening that begins below it; there is none for a tick that is no longer known.
	From generator.Tick
	Host string
	// Incarnation is empty if it is not known who issued: the coordinator was
	// restored from a backup, and the marks were raised over what it had lost.
	Incarnation string
	Claim       string
	Opening     string
	Version     string
	// Since is when the claim was made, by its host's clock.
	Since time.Time
}
