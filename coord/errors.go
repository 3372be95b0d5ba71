package coord

import (
	"errors"
	"fmt"

	"github.com/flakeward/flakeward/generator"
)

// ErrLost means that another has opened the record, or claims the worker ID by now, or that the
// claim was released. It is final: a worker ID must be claimed anew.
var ErrLost = errors.New("the claim on the worker ID is lost; claim again")

// ErrRaised is ErrLost for a claim that was opened before an operator raised all marks.
var ErrRaised = fmt.Errorf("all marks were raised, and nothing above what they were raised to may be issued from an older grant: %w", ErrLost)

// ErrTurnedAway means that servers end a connection before it can ask anything, though
// they served it before: they have no quorum, or know less than it has seen, as after a
// wipe or a restore from a backup.
var ErrTurnedAway = errors.New("no server serves this connection any more")

// ErrLogin means that the servers do not take the user, password or certificate, or ask for one. To
// ask again soon is of no use.
var ErrLogin = errors.New("login refused")

// ErrAccess means that who is logged in may not do what a daemon has to. To ask again soon is of no
// use.
var ErrAccess = errors.New("access denied")

// ErrNotJoined means that a method was called before Join succeeded.
var ErrNotJoined = errors.New("the cluster has not been joined yet; call Join first")

// ErrClosed means that a method was called after Close.
var ErrClosed = errors.New("the connection to the coordinator has been closed")

// ErrOtherCluster means that the coordinator's tree is not the one that was joined:
// it was wiped, or replaced by another. It is final: every later call returns it
// too. It comes as a *ClusterError.
var ErrOtherCluster = errors.New("the coordinator holds another cluster than the one that was joined")

// ClusterError is ErrOtherCluster with the UUIDs of both clusters.
type ClusterError struct {
	Ours    string // the UUID that Join returned
	Cluster string // the UUID found; empty if the cluster record is gone or cannot be read
}

func (e *ClusterError) Error() string {
	found := "cluster " + e.Cluster
	if e.Cluster == "" {
		found = "no cluster"
	}
	return fmt.Sprintf("the coordinator was wiped or replaced: this daemon joined cluster %s and finds %s; "+
		"IDs of the one may equal those of the other, so this daemon stops; "+
		"correct --coord; or start the daemon again, which joins the cluster that `flakeward cluster create` has made, or makes one in a directory", e.Ours, found)
}

// Is makes errors.Is find ErrOtherCluster.
func (e *ClusterError) Is(target error) bool { return target == ErrOtherCluster }

// AheadError means that a re-lease found no worker ID that may be issued from soon
// enough: others may have issued from each of those that are free up to a tick
// that the clock reaches only after Request.Latest.
type AheadError struct {
	Free   int            // worker IDs that no live claim owns
	Lowest generator.Tick // the lowest floor among them
	Latest generator.Tick // Request.Latest
}

func (e *AheadError) Error() string {
	return fmt.Sprintf("%d worker IDs are free, but each of them may have been issued from up to tick %d or later, "+
		"and the clock allows no floor above tick %d; wait before asking again", e.Free, e.Lowest, e.Latest)
}

// ExhaustedError means that every worker ID is held by a live claim.
type ExhaustedError struct {
	Held    int // worker IDs with a live claim, or with a damaged record
	Workers int // worker IDs that the cluster assigns
}

func (e *ExhaustedError) Error() string {
	return fmt.Sprintf("all worker IDs are taken: %d held of %d; stop a daemon that is not needed, "+
		"wait until the session of one that died ends, or use a layout with more worker bits", e.Held, e.Workers)
}

// LayoutError means that the cluster was made with another layout, epoch or
// datacenter. Both are in the form of Layout.Text.
type LayoutError struct {
	Ours    string
	Cluster string
}

func (e *LayoutError) Error() string {
	return fmt.Sprintf("the cluster's layout is %q but this daemon's is %q; "+
		"start it with the cluster's layout, or give it another coordinator prefix, or another directory", e.Cluster, e.Ours)
}
