package life

import (
	"errors"
	"slices"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/daemon/journal"
)

// Inherited is what was taken over of the journals, by lane; nil where there was nothing that can be used.
type Inherited []*journal.Contents

// any reports whether there is anything.
func (i Inherited) any() bool {
	return slices.ContainsFunc(i, func(c *journal.Contents) bool { return c != nil })
}

// Inherit reads the lanes' journals and hands each keeper what can be used of its own. What cannot is named, and the record rules.
//
// The journals of lanes that an earlier start had and this one does not stay, with their marks, for a start that has them again.
// Their claims are deleted with the first claim of this one.
func (l *Life) Inherit(dir *journal.Dir) (Inherited, error) {
	inherited := make(Inherited, len(l.Keepers))
	var first *journal.Contents
	var idle []func()
	for lane := range dir.Lanes() {
		f, err := dir.Lane(lane)
		if err != nil {
			return nil, err
		}
		log := l.logOf(lane)
		c := read(f, log)
		switch {
		case c == nil:
		case lane >= len(l.Keepers):
			if l.Keepers[0].Idle(c) {
				idle = append(idle, func() {
					if err := f.Write(*c); err != nil {
						log.Warn("the journal of a lane that does not run keeps its grant", "error", err)
					}
				})
			}
		case first != nil && first.Cluster != c.Cluster && first.Layout == c.Layout:
			// An earlier start has gone over to another cluster before this lane's journal was written, or while there was no such lane.
			l.Keepers[lane].InheritLeft(*c, first.Cluster)
			log.Warn("the journal is not used, as it is of another cluster than the one before it; the record rules, but nothing at or below its marks is issued",
				"journal", c.Cluster, "before", first.Cluster)
		default:
			if err := l.Keepers[lane].Inherit(*c); err != nil {
				log.Warn("the journal is not used; the record rules", "error", err)
				continue
			}
			inherited[lane] = c
			if first == nil {
				first = c
			}
		}
	}
	if len(idle) > 0 {
		l.together(idle...)
	}
	return inherited, nil
}

// read returns what a journal says, nil if that is nothing or not to be trusted.
func read(f *journal.File, log hclog.Logger) *journal.Contents {
	c, err := f.Read()
	if errors.Is(err, journal.ErrNone) {
		return nil
	}
	if err != nil {
		log.Warn("the journal is not used; the record rules", "error", err)
		return nil
	}
	return &c
}

// logOf names the lane, where there are several.
func (l *Life) logOf(lane int) hclog.Logger {
	if lane == 0 && len(l.Keepers) == 1 {
		return l.Log
	}
	return l.Log.With("lane", lane)
}
