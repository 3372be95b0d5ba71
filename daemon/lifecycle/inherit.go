package lifecycle

import (
	"errors"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/daemon/journal"
)

// Inherit reads the journal and hands the holder what can be used of it. It returns that; nil: there is
// nothing to go on from, and the record rules.
//
// Of a journal that lies elsewhere than where it was written, only the marks are handed on: whose
// claim it names may live.
func (l *Lifecycle) Inherit(dir *journal.Dir) *journal.Contents {
	l.dir, l.lost = dir, dir.Changed()
	c, inPlace := read(dir.File, l.Log)
	if l.Moved = !inPlace; c == nil {
		return nil
	}
	l.lost = time.Time{}
	if inPlace {
		l.resume(dir.File, c)
	} else if l.Alone && c.Coord == l.Coord {
		// The coordinator in the directory is a copy as well. It becomes another cluster, or has
		// become one in a start that did not live to write this journal.
		c.Cluster = ""
	}
	if err := l.Holder.Inherit(*c); err != nil {
		l.Log.Warn("the journal is not used; the record rules", "error", err)
		l.Holder.Why = "journal-unused"
		return nil
	}
	if !inPlace {
		l.Holder.Why = "journal-copied"
		return nil
	}
	return c
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
