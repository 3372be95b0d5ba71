package grant

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"

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
	joined, cause := "there", "either the coordinator was wiped or replaced, or it is not the one that was meant"
	if e.Joined != e.Coord {
		joined = "at " + e.Joined
	}
	if strings.HasPrefix(e.Joined, "dir:") && e.Joined != e.Coord {
		cause = "this daemon has run without that --coord, as a cluster of its own"
	}
	text := fmt.Sprintf("the coordinator %s holds cluster %s, but the journal in the state directory is of cluster %s, joined %s: "+
		"%s. IDs of two clusters may be equal, so none is issued. "+
		"Point --coord at cluster %[3]s, or give another --state-dir; to leave that cluster for good, start with --accept-cluster %[2]s",
		e.Coord, e.Found, e.Journal, joined, cause)
	switch e.Accept {
	case "":
		return text
	case e.Journal:
		return text + "; --accept-cluster names the cluster that would be left, " + e.Accept
	default:
		return text + "; --accept-cluster names neither, but " + e.Accept
	}
}

// migration takes a holder from what an earlier process left in the journal into the cluster that
// the coordinator holds, which may be another one: then only the marks go over.
type migration struct {
	held   *holdings
	layout *generator.Layout
	issuer Issuer
	log    hclog.Logger
	accept string // Config.Accept
	target string // the UUID of the cluster for which an earlier start has left the journal's; empty: for none
}

// inherit takes over a journal. See Holder.Inherit.
func (m *migration) inherit(c journal.Contents) error {
	if c.Layout != m.held.text {
		return fmt.Errorf("the journal is of layout %q and this daemon's is %q", c.Layout, m.held.text)
	}
	if len(c.Lanes) == 0 {
		return errors.New("the journal names no worker ID")
	}
	for _, e := range c.Lanes {
		if e.Worker >= m.layout.Workers() {
			return fmt.Errorf("the journal names worker ID %d and the layout has %d", e.Worker, m.layout.Workers())
		}
	}
	// The newest opening's entry stands last; one before it belongs to a worker ID that was being
	// left.
	current := none()
	if e := c.Lanes[len(c.Lanes)-1]; !e.Left {
		current = inherited(e)
	}
	left := join(slices.DeleteFunc(slices.Clone(c.Lanes), func(e journal.Entry) bool { return !e.Left }))
	m.begin(c, current, left)
	return nil
}

// inheritLeft takes over a journal of a cluster that an earlier start has left for the target: its
// marks, and nothing else.
func (m *migration) inheritLeft(c journal.Contents, target string) {
	m.target = target
	m.begin(c, none(), join(c.Lanes))
	m.held.issued.NoteAll(c.Floors())
}

func (m *migration) begin(c journal.Contents, current *holding, left []journal.Entry) {
	m.held.inherit(c, current, left)
	m.held.issued.NoteAll(c)
}

// enter goes into the cluster that was found. What is held of another one ends here: there the
// worker ID is another one's. Unless the cluster is the one that is accepted, or the target, that
// is a *ForeignError.
func (m *migration) enter(uuid, coord string) error {
	was := m.held.snapshot().cluster
	if was == "" || was == uuid {
		return nil
	}
	m.held.change(func(s *state) {
		s.current.end(m.held.issued)
		s.current.granted = 0
	})
	if m.accept != uuid && m.target != uuid {
		return &ForeignError{Journal: was, Joined: m.held.found.Coord, Found: uuid, Coord: coord, Accept: m.accept}
	}
	if err := m.migrate(uuid); err != nil {
		return fmt.Errorf("cluster %s is not left for %s yet: %w", was, uuid, err)
	}
	m.log.Warn("the journal is of another cluster, which is left; the record rules, but nothing at or below the journal's marks is issued",
		"journal", was, "cluster", uuid)
	return nil
}

// migrate rewrites the journal for the cluster that was found. It keeps only the marks of what was
// left. Who claims there has been through this, with all lanes, so a start that follows finds no
// journal of the old cluster beside one of the new, and each mark in the journal that it was in,
// whichever lane is assigned the worker ID.
func (m *migration) migrate(to string) error {
	s := m.held.snapshot()
	held := m.held.contents(state{current: &s.current, draining: &s.draining}, nil)
	left := join(s.left, m.held.found.Lanes, held.Lanes)
	if err := m.held.recordAlone(func(now *state) {
		*now = state{cluster: to, current: none(), draining: none(), left: left}
	}); err != nil {
		return err
	}
	m.held.issued.NoteAll(journal.Contents{Lanes: left}) // of another cluster, so up from the first tick
	m.held.change(func(*state) { m.held.found = journal.Contents{} })
	m.issuer.Use(nil)
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
