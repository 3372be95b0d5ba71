package linear

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flakeward/flakeward/generator"
)

// hold is what is known of the holder's claim.
type hold uint8

const (
	gone   hold = iota // it is not there any more
	mortal             // it may be gone
	firm               // it is there
)

// giving is how far the holder's Release has come.
type giving uint8

const (
	kept         giving = iota
	stored              // it was stored, and its caller was not told
	acknowledged        // its caller was told
)

// record is all that the outcome of later operations on one worker ID depends on. It is
// a value: a step never changes one.
type record struct {
	ceiling, issued, mark generator.Tick
	free                  gaps           // granted to nobody, though the ceiling is above them
	until                 generator.Tick // the end of the gap that the holder is in; 0: it is above all
	holder                string         // the last opening; empty: there is no record
	epoch                 string         // the one that it was opened in
	hold                  hold
	minimum               generator.Tick // what the holder's Release does not go below
	giving                giving

	floor generator.Tick // what all were raised to
	now   string         // the cluster epoch, another one after each raise
}

// mine is whether the operation's claim may still write: the claim is the holder's, is
// there, and nobody raised all marks since.
func (r record) mine(o Op) bool {
	return r.holder == o.writer() && r.epoch == r.now && r.hold != gone
}

// step returns what the record may be after the operation; nothing if it cannot have
// ended as it did.
func (r record) step(o Op) []record {
	next := r.after(o)
	if o.Outcome == Unknown && !slices.Contains(next, r) {
		next = append(next, r)
	}
	return next
}

// after is what the record may be once the operation has taken place, or a lost one was found to be
// lost; nothing if it cannot be.
func (r record) after(o Op) []record {
	one := func(next record, ok bool) []record {
		if ok {
			return []record{next}
		}
		return nil
	}
	switch {
	case o.Kind == Open:
		return r.opened(o)
	case o.Kind != Raise && o.Kind != Read && o.Outcome == Lost:
		return one(r.lost(o))
	case o.Kind == Reopen:
		return r.reopened(o)
	case o.Kind == Extend:
		if !r.mine(o) {
			return nil
		}
		r = r.extended(o.Progress.Ceiling)
		r.issued = max(r.issued, o.Progress.Issued)
		r.mark = max(r.mark, o.Progress.Mark)
	case o.Kind == Release:
		return one(r.givenBack(o))
	case o.Kind == End:
		if r.holder == o.Opening {
			r.hold = gone
		}
	case o.Kind == Doom:
		if r.holder == o.Opening && r.hold == firm {
			r.hold = mortal
		}
	case o.Kind == Raise:
		if o.Outcome == Done && o.Before != r.floor {
			return nil
		}
		r.floor, r.now = max(r.floor, o.To), o.ClusterEpoch
	default:
		return one(r, r.shows(o))
	}
	return []record{r}
}

// opened takes the record over.
func (r record) opened(o Op) []record {
	if r.hold == firm && r.epoch == r.now {
		return nil // somebody holds it
	}
	own := o.From != "" && r.holder == o.From && r.epoch == r.now && r.mark <= o.FromMark
	past := r.until != 0 && o.Now >= r.until // the end of its gap
	if o.Continues && (!own || past) || !o.Continues && own && !past && !r.leaves(o) {
		return nil
	}
	hold := firm
	if o.Mortal || o.Outcome == Unknown {
		hold = mortal // nobody who could use it knows of it: its node is deleted sooner or later
	}
	found := r.raised()
	if !o.Continues {
		return found.anew(o, hold)
	}
	if o.Outcome == Done && (o.Floor != found.granted() || o.Until != found.until) {
		return nil
	}
	found.minimum = max(r.issued, r.floor) // the grants before were the caller's own
	return []record{found.takenBy(o, hold)}
}

// leaves is whether whoever could continue may as well open the record elsewhere: its time is far
// from where it was granted anything, or its mark is.
func (r record) leaves(o Op) bool {
	return o.Now-1-r.granted() > 1 || o.FromMark > o.Latest
}

// reopened opens the record for its holder.
func (r record) reopened(o Op) []record {
	if !r.mine(o) {
		return nil
	}
	return r.raised().anew(o, r.hold)
}

// anew is the record opened by somebody who does not continue, wherever that may be.
func (r record) anew(o Op, hold hold) []record {
	var all []record
	for _, p := range r.places(o.Now) {
		// A reopening that was made again is of the time of one of its tries.
		floor := o.Kind == Reopen && o.Floor > p.from && (p.until == 0 || o.Floor < p.until) || o.Floor == p.floor
		if o.Outcome == Done && (o.Until != p.until || !floor) {
			continue
		}
		if o.Outcome == Done {
			p.floor = o.Floor
		}
		next := r.openedAt(p)
		next.minimum, next.issued, next.mark = p.floor, min(r.issued, p.floor), 0
		if next = next.takenBy(o, hold); !slices.Contains(all, next) {
			all = append(all, next)
		}
	}
	return all
}

func (r record) takenBy(o Op, hold hold) record {
	r.holder, r.epoch, r.giving, r.hold = o.Opening, r.now, kept, hold
	return r
}

// givenBack lowers the record and frees the worker ID.
func (r record) givenBack(o Op) (record, bool) {
	to := max(r.minimum, r.issued, o.To)
	switch {
	case r.stored(o): // made again, it answers as the first would have
		if o.Outcome == Done {
			r.giving = acknowledged
		}
		return r, r.mark == to
	case !r.mine(o):
		return r, false
	}
	r = r.lowered(to)
	r.issued, r.mark = to, to
	r.hold, r.giving = gone, acknowledged
	if o.Outcome == Unknown {
		r.giving = stored
	}
	return r, true
}

// stored is whether a Release of the claim was, and nothing has happened since.
func (r record) stored(o Op) bool {
	return r.giving == stored && r.holder == o.writer() && r.epoch == r.now
}

// lost needs a reason, and is final.
func (r record) lost(o Op) (record, bool) {
	if r.mine(o) && r.hold == firm || o.Kind == Release && r.stored(o) {
		return r, false
	}
	if r.holder == o.writer() {
		r.hold = gone
	}
	return r, true
}

// shows is whether a read can have found the record.
func (r record) shows(o Op) bool {
	found := o.Found
	if r.holder == "" {
		return found.Holder == ""
	}
	same := found.Holder == r.holder || found.Holder == Unseen && strings.HasPrefix(r.holder, Unseen)
	return same && found.Ceiling == r.ceiling && found.Gaps == r.free && found.Until == r.until && found.Issued == r.issued && found.Mark == r.mark
}

func (r record) String() string {
	claim := map[hold]string{gone: "gone", mortal: "mortal", firm: "held"}[r.hold]
	return fmt.Sprintf("%s by %s: ceiling %d gaps %v until %d issued %d mark %d minimum %d, all raised to %d, same epoch %v",
		claim, r.holder[:min(len(r.holder), 6)], r.ceiling, r.free, r.until, r.issued, r.mark, r.minimum, r.floor, r.epoch == r.now)
}
