package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/flakeward/flakeward/coord"
)

// NoClusterError means that the coordinator holds no cluster, and that the journals are of one that
// was joined at another coordinator. It is final, and nothing was made: a cluster in the wrong
// place would stay there.
type NoClusterError struct {
	Coord   string // the coordinator
	Journal string // the UUID of the cluster that the journals are of
	Joined  string // where that was joined
}

func (e *NoClusterError) Error() string {
	return fmt.Sprintf("the coordinator %[1]s holds no cluster, and the journal in the state directory is of cluster %[2]s, joined at %[3]s: nothing was made. "+
		"Point --coord at that cluster, or give another --state-dir to begin a new one; to leave that cluster for a new one here, "+
		"start with --accept-cluster %[2]s, which makes it and is refused with its UUID", e.Coord, e.Journal, e.Joined)
}

// leaves reports whether the way from one URL to another leads from a coordinator of one host alone to
// one that others share. Who goes it means to; from a directory to another one may be a slip.
func leaves(from, to string) bool {
	const directory = "dir:"
	return strings.HasPrefix(from, directory) && !strings.HasPrefix(to, directory)
}

// elsewhere is the error for a coordinator without a cluster; nil if the journals are of no cluster
// that was joined at another one.
func (i Inherited) elsewhere(url string) *NoClusterError {
	for _, c := range i {
		if c != nil && c.Cluster != "" && c.Coord != url && !leaves(c.Coord, url) {
			return &NoClusterError{Coord: url, Journal: c.Cluster, Joined: c.Coord}
		}
	}
	return nil
}

// empty reports whether the coordinator says that it holds no cluster.
func empty(ctx context.Context, c coord.Coordinator) bool {
	o, ok := c.(interface {
		Inspect(ctx context.Context) (coord.Inspected, error)
	})
	if !ok {
		return false
	}
	_, err := o.Inspect(ctx)
	return errors.Is(err, coord.ErrNoCluster)
}
