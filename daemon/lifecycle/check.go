package lifecycle

import (
	"context"
	"errors"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/daemon/journal"
)

// Candidate is a daemon that might start.
type Candidate struct {
	Layout   coord.Layout       // as it would join with
	Coord    string             // the coordinator's URL, without secrets
	Accept   string             // the UUID of the cluster that it may go over to; empty: none
	Journals []journal.Contents // in its state directory
}

// Check asks a coordinator whether the daemon would be refused there, and makes nothing. It returns
// the cluster's UUID; empty: there is none yet, and the daemon would make it.
func (d Candidate) Check(ctx context.Context, o coord.Operator) (string, error) {
	var inherited Inherited
	for i, c := range d.Journals {
		if c.Layout == d.Layout.Text { // or it would not be used
			inherited = append(inherited, &d.Journals[i])
		}
	}
	cluster, err := o.Inspect(ctx)
	if errors.Is(err, coord.ErrNoCluster) {
		if e := inherited.elsewhere(d.Coord); e != nil && d.Accept == "" {
			return "", e
		}
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if err := d.Layout.Fits(cluster); err != nil {
		return "", err
	}
	for _, c := range inherited {
		if c.Cluster != "" && c.Cluster != cluster.UUID && d.Accept != cluster.UUID {
			return "", &grant.ForeignError{Journal: c.Cluster, Joined: c.Coord, Found: cluster.UUID, Coord: d.Coord, Accept: d.Accept}
		}
	}
	return cluster.UUID, nil
}
