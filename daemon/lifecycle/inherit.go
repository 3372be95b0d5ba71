package lifecycle

import (
	"errors"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/daemon/journal"
)

// Inherited is what was taken over of the journals, by lane; nil where there was nothing that can
// be used.
type Inherited []*journal.Contents

// Cluster is the UUID of the cluster that a lane which was handed over issues in, which is the same
// for all lanes; empty: there is none.
func (i Inherited) Cluster() string {
	for _, c := range i {
		if c != nil && c.Cluster != "" {
			return c.Cluster
		}
	}
	return ""
}

// Inherit reads the lanes' journals and hands each holder what can be used of its own. What cannot
// is named, and the record rules.
//
// The journals of lanes that an earlier start had and this one does not stay, with their marks, for
// a start that has them again. Their claims are deleted with the first claim of this one.
//
// Of a journal that lies elsewhere than where it was written, only the marks are handed on: whose
// claim it names may live.
func (l *Lifecycle) Inherit(dir *journal.Dir) (Inherited, error) {
	inherited := make(Inherited, len(l.Holders))
	var first *journal.Contents
	all := make([]laneJournal, dir.Lanes())
	l.Moved, l.dir, l.lost = true, dir, dir.Changed()
	for lane := range all {
		f, err := dir.Lane(lane)
		if err != nil {
			return nil, err
		}
		c, inPlace := read(f, l.logOf(lane))
		all[lane] = laneJournal{f, c, inPlace}
		l.Moved = l.Moved && !inPlace
		if c != nil {
			l.lost = time.Time{}
		}
	}
	l.resume(all)
	for lane, found := range all {
		c, inPlace, log := found.contents, found.inPlace, l.logOf(lane)
		if c != nil && !inPlace && l.Alone && c.Coord == l.Coord {
			// The coordinator in the directory is a copy as well. It becomes another cluster, or
			// has become one in a start that did not live to write this journal.
			c.Cluster = ""
		}
		switch {
		case c == nil:
		case lane >= len(l.Holders):
			l.Holders[0].Idle(*c)
		case first != nil && first.Cluster != c.Cluster && first.Layout == c.Layout:
			log.Warn("the journal is not used, as it is of another cluster than the one before it", "journal", c.Cluster, "before", first.Cluster)
			l.Holders[lane].Why = "cluster-replaced"
		default:
			if err := l.Holders[lane].Inherit(*c); err != nil {
				log.Warn("the journal is not used; the record rules", "error", err)
				l.Holders[lane].Why = "journal-unused"
				continue
			}
			if inPlace {
				inherited[lane] = c
			} else {
				l.Holders[lane].Why = "journal-copied"
			}
			if first == nil && c.Cluster != "" {
				first = c
			}
		}
	}
	return inherited, nil
}

// laneJournal is a lane's journal, as it was found.
type laneJournal struct {
	file     *journal.File
	contents *journal.Contents // nil: it says nothing, or is not to be trusted
	inPlace  bool              // it lies where it was written
}

// read returns what a journal says, nil if that is nothing or not to be trusted, and whether it
// lies where it was written. Of one that lies elsewhere it returns the floors.
func read(f *journal.File, log hclog.Logger) (c *journal.Contents, inPlace bool) {
	said, err := f.Read()
	if errors.Is(err, journal.ErrNone) {
		return nil, false
	}
	why := ""
	if err == nil {
		why, err = f.Elsewhere(said)
	}
	switch {
	case err != nil:
		log.Warn("the journal is not used; the record rules", "error", err)
		return nil, false
	case why != "":
		log.Warn("the journal was not written here, so it may be a copy of another daemon's: no ID is issued at or below its marks, "+
			"nothing else of it counts, and another worker ID is claimed", "reason", why)
		said = said.Floors()
		return &said, false
	}
	return &said, true
}

// logOf names the lane, where there are several.
func (l *Lifecycle) logOf(lane int) hclog.Logger {
	if lane == 0 && len(l.Holders) == 1 {
		return l.Log
	}
	return l.Log.With("lane", lane)
}
