package journal

import (
	"slices"

	"github.com/flakeward/flakeward/daemon/place"
	"github.com/flakeward/flakeward/generator"
)

// Contents is all that a journal says. Strings are valid UTF-8.
type Contents struct {
	Place   place.Place `json:"place"`          // where it was written; Write sets it
	Cluster string      `json:"cluster"`        // the cluster's UUID
	Coord   string      `json:"coord"`          // the coordinator's URL
	Layout  string      `json:"layout"`         // the layout in its full form, with its epoch
	Known   Known       `json:"known,omitzero"` // what time it was when it was written
	Entries []Entry     `json:"entries"`        // one for each worker ID: the one in use last, before it one that is being left, first those of which only the mark counts
}

// Known is what time it was by a daemon's known time, which a wall clock that has stepped ahead since
// is held against. Both are in nanoseconds, and 0 if that is not known.
type Known struct {
	Wall int64 `json:"wall"` // since 1970-01-01T00:00:00Z
	Boot int64 `json:"boot"` // by CLOCK_BOOTTIME, of the boot that Place names
}

// Entry is one worker ID's part of a journal.
type Entry struct {
	Worker  int    `json:"worker"`  // at least 0
	Opening string `json:"opening"` // the opening that the lane came from; never empty
	Claim   string `json:"claim"`   // the claim node's name
	// Floor is where the lane began: nothing at or below it was issued by this opening, or one that
	// it goes on from.
	Floor generator.Tick `json:"floor,omitempty"`
	Mark  generator.Tick `json:"mark"` // nothing above it was issued; at least 0
	// Left is set for a worker ID of a cluster that was left for the one of this journal, and for
	// one of a journal that was found elsewhere than where it was written. Of such an entry the
	// mark counts, and nothing else.
	Left bool `json:"left,omitempty"`
}

// Floors returns what a journal says that lies elsewhere than where it was written. It is a copy,
// and another daemon may have gone on from what it is a copy of: its marks are floors, and nothing
// else of it counts.
func (c Contents) Floors() Contents {
	c.Entries = slices.Clone(c.Entries)
	for i, e := range c.Entries {
		c.Entries[i] = Entry{Worker: e.Worker, Opening: e.Opening, Mark: e.Mark, Left: true}
	}
	return c
}
