package coord

import (
	"context"
	"fmt"

	"github.com/flakeward/flakeward/generator"
)

// Stage says what a coordinator does for a cluster, as its cluster record has it.
type Stage string

// The stages. Daemons join, claim and are granted ticks only in a cluster that is Serving. At each
// other stage every call of theirs answers *StageError and writes nothing.
const (
	Absent  Stage = ""        // there is no cluster record
	Serving Stage = "serving" // daemons are served
	Closed  Stage = "closed"  // the cluster is being copied to here, from Place.Peer
	Sealed  Stage = "sealed"  // the cluster is being copied from here, to Place.Peer; this may be taken back
	Left    Stage = "left"    // the copy is whole, and nothing is ever granted here again
)

// Place is one coordinator's cluster record, all of it. Two places are the same if they are equal.
type Place struct {
	Stage        Stage
	UUID         string
	Layout       string // Layout.Text; empty if Closed
	Workers      int    // Layout.Workers; 0 if Closed, or if the record does not say
	Floor        generator.Tick
	ClusterEpoch string
	Window       generator.Tick
	Range        WorkerRange    // the worker IDs that claims may name
	Numbered     WorkerRange    // those that sequence numbers name
	Above        generator.Tick // the ceiling of a worker ID without a record
	// Move is the random name of the move that Closed, Sealed or Left belongs to; empty if Serving.
	Move string
	// Peer is the URL of the other coordinator, for people to read; empty if Serving.
	Peer string
}

// Mover is one of the two coordinators that a cluster is moved between. Package move has the order
// in which its methods are called. All methods are safe for concurrent use and return soon after
// their context ends; after an error of one that writes, the outcome is unknown, and Place tells it.
type Mover interface {
	// Place reads the cluster record. Absent is no error.
	Place(ctx context.Context) (Place, error)

	// Change replaces the cluster record, in one step, if it still is was. Otherwise it answers
	// ErrRaced and writes nothing. If was is Absent, it makes the record.
	Change(ctx context.Context, was, next Place) error

	// Records returns the records of all worker IDs as of a moment at which the place was at,
	// without histories, in the order of the worker IDs. ErrRaced if the place is another one.
	// Where the place is Sealed or Left, they never change any more.
	Records(ctx context.Context, at Place) ([]Copy, error)

	// History adds the history to a copy, and which host's lane had the worker ID last.
	History(ctx context.Context, at Place, c Copy) (Copy, error)

	// Store makes the worker ID's record and history those of the copy, byte for byte and in one
	// step. Claims that name the worker ID are deleted before. ErrRaced, and nothing is written, if
	// the place is not at, or another stores that record at the same time.
	Store(ctx context.Context, at Place, c Copy) error
}

// Copy is a worker ID's record, as it is moved.
type Copy struct {
	Worker int
	Record []byte // as stored
	// Ceiling is the record's, and Held whether a live claim owns the worker ID. They are shown.
	Ceiling generator.Tick
	Held    bool
	History []byte // as stored; nil: none
	Host    string // of which a lane, Lane, had the worker ID last; empty: unknown
	Lane    int
}

// StageError means that a cluster is being moved, or has been: this coordinator grants nothing. It is
// no loss: grants that were acknowledged hold, and whoever opens the record at the other coordinator
// begins above them.
type StageError struct{ Place }

func (e *StageError) Error() string {
	switch e.Stage {
	case Closed:
		return fmt.Sprintf("cluster %s is being moved to this coordinator from %s and is not served here yet: "+
			"run `flakeward move` again if it was cut off", e.UUID, e.Peer)
	case Sealed:
		return fmt.Sprintf("cluster %s is being moved from this coordinator to %s: nothing is granted here; "+
			"run `flakeward move` again, or with --abort", e.UUID, e.Peer)
	}
	return fmt.Sprintf("cluster %s was moved from this coordinator to %s: start the daemon with that as its --coord", e.UUID, e.Peer)
}

// Movable is a coordinator that a cluster can be moved to and from. Nothing has to be joined first.
type Movable interface{ Mover() Mover }
