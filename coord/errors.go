package coord

import (
	"errors"
	"fmt"
)

// ErrLost means that the claim is gone or that its record has been opened by
// another. It is final: the worker ID must be claimed anew.
var ErrLost = errors.New("the claim on the worker ID is lost; claim again")

// ErrNotJoined means that a method was called before Join succeeded.
var ErrNotJoined = errors.New("the cluster has not been joined yet; call Join first")

// ErrClosed means that a method was called after Close.
var ErrClosed = errors.New("the connection to the coordinator has been closed")

// ExhaustedError means that every worker ID is held by a live claim.
type ExhaustedError struct {
	Held    int // live claims that own a worker ID
	Workers int // worker IDs that the layout has
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
		"start it with the cluster's layout, or give it a coordinator prefix of its own", e.Cluster, e.Ours)
}
