package grant

import (
	"errors"
	"fmt"
	"slices"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/journal"
)

// ForeignError means that the journal is of another cluster than the coordinator's, and that nobody has said to go over to that one.
// It is final: nothing is issued, and only a start with another configuration goes on.
type ForeignError struct {
	Journal string // the UUID of the cluster that the journal is of
	Joined  string // where the journal says that cluster was
	Found   string // the UUID of the cluster that the coordinator holds
	Coord   string // the coordinator
	Accept  string // Config.Accept; empty if none was given
}

func (e *ForeignError) Error() string {
	joined := "there"
	if e.Joined != e.Coord {
		joined = "at " + e.Joined
	}
	text := fmt.Sprintf("the coordinator %s holds cluster %s, but the journal in the state directory is of cluster %s, joined %s: "+
		"either the coordinator was wiped or replaced, or it is not the one that was meant. IDs of two clusters may be equal, so none is issued. "+
		"Point --coord at cluster %[3]s, or give another --state-dir; to leave that cluster for good, start with --accept-cluster %[2]s",
		e.Coord, e.Found, e.Journal, joined)
	switch e.Accept {
	case "":
		return text
	case e.Journal:
		return text + "; --accept-cluster names the cluster that would be left, " + e.Accept
	default:
		return text + "; --accept-cluster names neither, but " + e.Accept
	}
}

// Attach gives the keeper the coordinator that it has joined, before Acquire or Lend. What the journal or a cold start brought from
// another cluster ends here: there the worker ID is another one's. Unless Config.Accept names the cluster that was found, that is a
// *ForeignError, and the keeper must not be used any more but for Shut.
func (k *Keeper) Attach(c coord.Coordinator, cluster coord.Cluster) error {
	k.mu.Lock()
	was := k.state.cluster
	foreign := was != "" && was != cluster.UUID
	if foreign {
		k.end(k.state.cur)
		k.state.cur.granted = 0
	}
	k.mu.Unlock()
	if foreign {
		if err := k.disown(); err != nil {
			k.Log.Warn("the journal keeps a grant of a cluster that its coordinator does not hold any more", "error", err)
		}
		if k.Accept != cluster.UUID {
			return k.refuse(&ForeignError{Journal: was, Joined: k.inherited.Coord, Found: cluster.UUID, Coord: k.Coord, Accept: k.Accept})
		}
		k.Log.Warn("the journal is of another cluster, which is left as --accept-cluster says; the record rules, but nothing at or below the journal's marks is issued",
			"journal", was, "cluster", cluster.UUID)
	}
	k.mu.Lock()
	if foreign {
		k.state.cur = none
	}
	k.state.cluster = cluster.UUID
	k.coord = c
	k.mu.Unlock()
	if foreign {
		k.issuer.Use(nil)
	}
	return nil
}

// refuse ends the keeper's work before it has begun.
func (k *Keeper) refuse(err *ForeignError) error {
	k.NotJoined(err)
	k.issuer.Changed()
	return err
}

// disown takes the grants out of the journal of a cluster that is not at its coordinator any more: a start that finds that
// coordinator away must not issue from them. The journal of a cluster that is elsewhere stays as it is.
func (k *Keeper) disown() error {
	if k.snapshot().cur.lane != nil { // started from the journal
		return k.write(func(*state) {})
	}
	c := k.inherited
	if c.Coord != k.Coord {
		return nil
	}
	c.Lanes = slices.Clone(c.Lanes)
	for i := range c.Lanes {
		c.Lanes[i].Ceiling = 0
	}
	k.takeTurn()
	defer k.giveTurn()
	return k.Journal.Write(c)
}

// Inherit takes over what an earlier process of this host left in the journal. It is called once, before the first Acquire. What is
// not usable is refused with the reason, and the record rules then: the journal of another layout, or without a lane.
func (k *Keeper) Inherit(c journal.Contents) error {
	if c.Layout != k.LayoutText() {
		return fmt.Errorf("the journal is of layout %q and this daemon's is %q", c.Layout, k.LayoutText())
	}
	if len(c.Lanes) == 0 {
		return errors.New("the journal names no worker ID")
	}
	for _, e := range c.Lanes {
		if e.Worker >= k.Layout.Workers() {
			return fmt.Errorf("the journal names worker ID %d and the layout has %d", e.Worker, k.Layout.Workers())
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.inherited = c
	k.state.cluster = c.Cluster
	// The newest opening's entry stands last; one before it belongs to a worker ID that was being left.
	k.state.cur = inherited(c.Lanes[len(c.Lanes)-1])
	for _, e := range c.Lanes {
		// A coordinator that was wiped or restored knows less.
		k.spent[e.Worker] = max(k.spent[e.Worker], e.Mark)
	}
	return nil
}

func inherited(e journal.Entry) holding {
	return holding{worker: e.Worker, opening: e.Opening, node: e.Claim, mark: e.Mark, granted: e.Ceiling, published: e.Mark}
}
