package grant

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/generator"
)

// ForeignError means that the journal is of another cluster than the coordinator's, and that nobody
// has said to go over to that one. It is final: nothing is issued, and only a start with another
// configuration goes on.
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

// Attach gives the holder the coordinator that it has joined, before Acquire or Hold. What the
// journal or a cold start brought from another cluster ends here: there the worker ID is another
// one's. Unless the cluster that was found is the one that Config.Accept names, or that an earlier
// start went over to, that is a *ForeignError, and the holder must not be used any more but for
// Shut. Any other error is of the journal, and Attach may be called again.
func (k *Holder) Attach(c coord.Coordinator, cluster coord.Cluster) error {
	k.mu.Lock()
	was := k.state.cluster
	foreign := was != "" && was != cluster.UUID
	if foreign {
		k.end(k.state.current)
		k.state.current.granted = 0
	}
	k.mu.Unlock()
	if foreign && k.Accept != cluster.UUID && k.over != cluster.UUID {
		if err := k.dropGrants(); err != nil {
			k.Log.Warn("the journal keeps a grant of a cluster that its coordinator does not hold any more", "error", err)
		}
		return k.refuse(&ForeignError{Journal: was, Joined: k.inherited.Coord, Found: cluster.UUID, Coord: k.Coord, Accept: k.Accept})
	}
	if foreign {
		if err := k.migrate(cluster.UUID); err != nil {
			return fmt.Errorf("cluster %s is not left for %s yet: %w", was, cluster.UUID, err)
		}
		k.Log.Warn("the journal is of another cluster, which is left; the record rules, but nothing at or below the journal's marks is issued",
			"journal", was, "cluster", cluster.UUID)
	}
	k.mu.Lock()
	k.state.cluster = cluster.UUID
	k.coord = c
	k.mu.Unlock()
	k.Spent.Raised(cluster.Raise)
	return nil
}

// Cluster is the UUID of the cluster that the holder is attached to, or, after a cold start, of the
// one that the journal's grant is of: while something is issued, of the one in which it is. Empty:
// of none yet.
func (k *Holder) Cluster() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.coord == nil && k.state.current.lane == nil {
		return ""
	}
	return k.state.cluster
}

// Window is how far beyond the clock a grant reaches at most, as the cluster's record has to know
// it.
func (k *Holder) Window() generator.Tick { return k.window }

// migrate makes the journal one of the cluster that was found: with the marks of what was left, and
// nothing else of it. Who claims there has been through this, with all lanes, so a start that
// follows finds no journal of the old cluster beside one of the new, and each mark in the journal
// that it was in, whichever lane is dealt the worker ID.
func (k *Holder) migrate(to string) error {
	s := k.snapshot()
	left := join(s.left, k.inherited.Lanes, k.contents(s).Lanes)
	if err := k.write(func(now *state) {
		now.cluster, now.left = to, left
		now.current, now.draining = none, none
	}); err != nil {
		return err
	}
	k.inherited = journal.Contents{}
	k.issuer.Use(nil)
	return nil
}

// maxLeft is how many marks of clusters that were left a journal keeps: those that reach furthest.
// It bounds the journal of a host whose cluster is replaced again and again.
const maxLeft = 64

// join makes of entries those of a cluster that was left, one for each worker ID.
func join(all ...[]journal.Entry) []journal.Entry {
	of := map[int]journal.Entry{}
	for _, e := range slices.Concat(all...) {
		if before, ok := of[e.Worker]; !ok || e.Mark > before.Mark {
			of[e.Worker] = journal.Entry{Worker: e.Worker, Opening: e.Opening, Mark: e.Mark, Left: true}
		}
	}
	left := slices.SortedFunc(maps.Values(of), func(a, b journal.Entry) int {
		return cmp.Or(cmp.Compare(b.Mark, a.Mark), cmp.Compare(a.Worker, b.Worker))
	})
	return left[:min(len(left), maxLeft)]
}

// refuse ends the holder's work before it has begun.
func (k *Holder) refuse(err *ForeignError) error {
	k.NotJoined(err)
	k.issuer.Changed()
	return err
}

// dropGrants takes the grants out of the journal of a cluster that is not at its coordinator any
// more: a start that finds that coordinator away must not issue from them. The journal of a cluster
// that is elsewhere stays as it is.
func (k *Holder) dropGrants() error {
	if k.snapshot().current.lane != nil { // started from the journal
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
	if err := k.copied(); err != nil {
		return err
	}
	return k.Journal.Write(c)
}

// Inherit takes over what an earlier process of this host left in the journal. It is called once,
// before the first Acquire. What is not usable is refused with the reason, and the record rules
// then: the journal of another layout, or without a lane.
func (k *Holder) Inherit(c journal.Contents) error {
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
	// The newest opening's entry stands last; one before it belongs to a worker ID that was being
	// left.
	if e := c.Lanes[len(c.Lanes)-1]; !e.Left {
		k.state.current = inherited(e)
	}
	k.state.left = join(slices.DeleteFunc(slices.Clone(c.Lanes), func(e journal.Entry) bool { return !e.Left }))
	k.Spent.NoteAll(c)
	return nil
}

// InheritLeft takes over a journal of a cluster that an earlier start has left for another one,
// over: its marks, and the claims for DeleteStale. It is called instead of Inherit, and Attach to
// that other one makes the journal one of it. The layout is the holder's.
func (k *Holder) InheritLeft(c journal.Contents, over string) {
	k.mu.Lock()
	k.inherited, k.over = c, over
	k.state.cluster, k.state.left = c.Cluster, join(c.Lanes)
	k.mu.Unlock()
	k.Spent.NoteAll(c)
	k.DeleteStale(claimsOf(c))
}

func claimsOf(c journal.Contents) (names []string) {
	for _, e := range c.Lanes {
		if e.Claim != "" {
			names = append(names, e.Claim)
		}
	}
	return names
}

// Idle takes the grants out of the journal of a lane that does not run: nobody will know, by the
// time that it does, whether its cluster is still the coordinator's. The marks are noted, unless
// they are of another layout, and the claims are for DeleteStale, once: those that a start does not
// come to delete end with their session. It reports whether the journal has changed by that.
func (k *Holder) Idle(c *journal.Contents) (changed bool) {
	if c.Layout == k.LayoutText() {
		k.Spent.NoteAll(*c)
	}
	k.DeleteStale(claimsOf(*c))
	c.Lanes = slices.Clone(c.Lanes)
	for i := range c.Lanes {
		e := &c.Lanes[i]
		changed = changed || e.Ceiling != 0 || e.Claim != ""
		e.Ceiling, e.Claim = 0, ""
	}
	return changed
}

// DeleteStale has the next claim delete the claim nodes of dead processes that nobody goes on from.
// It is called before the first Acquire.
func (k *Holder) DeleteStale(nodes []string) { k.stale = append(k.stale, nodes...) }

func inherited(e journal.Entry) holding {
	return holding{worker: e.Worker, opening: e.Opening, node: e.Claim, mark: e.Mark, granted: e.Ceiling, published: e.Mark}
}
