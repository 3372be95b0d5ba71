package linear

import (
	"fmt"
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

// giving is how far the holder has come to its end.
type giving uint8

const (
	kept         giving = iota
	stored              // its Release was stored, and its caller was not told
	acknowledged        // its caller was told
	over                // it was told that it is lost
)

// record is all that the outcome of later operations on one worker ID depends on. It is
// a value: a step never changes one.
type record struct {
	ceiling, issued generator.Tick
	holder          string // the last opening; empty: there is no record
	hold            hold
	minimum         generator.Tick // what the holder's Release does not go below
	giving          giving
	floor           generator.Tick // the cluster's
}

// mine is whether the operation's claim may still write: it is the holder's, and has not come to
// its end.
func (r record) mine(o Op) bool { return r.holder == o.Opening && r.giving == kept }

// step returns what the record may be after the operation; nothing if it cannot have
// ended as it did.
func (r record) step(o Op) (all []record) {
	next, ok := r.after(o)
	if ok {
		all = append(all, next)
	}
	if o.Outcome == Unknown && (!ok || next != r) {
		all = append(all, r)
	}
	return all
}

// after is the record once the operation has taken place, or a lost one was found to be lost,
// unless it cannot be.
func (r record) after(o Op) (next record, ok bool) {
	switch {
	case o.Kind == Open:
		return r.opened(o)
	case o.Kind != Read && o.Outcome == Lost:
		return r.lost(o)
	case o.Kind == Extend:
		if !r.mine(o) {
			return r, false
		}
		r.ceiling = max(r.ceiling, o.Progress.Ceiling)
		r.issued = max(r.issued, o.Progress.Issued)
	case o.Kind == Release:
		return r.givenBack(o)
	case o.Kind == End:
		if r.holder == o.Opening {
			r.hold = gone
		}
	default:
		return r, r.shows(o)
	}
	return r, true
}

// opened takes the record over.
func (r record) opened(o Op) (record, bool) {
	if r.hold == firm {
		return r, false // somebody holds it
	}
	r.ceiling = max(r.ceiling, r.floor)
	if o.Outcome == Done && o.Floor != r.ceiling {
		return r, false
	}
	r.minimum, r.issued = r.ceiling, 0 // what is published as issued is the holder's own
	r.holder, r.giving, r.hold = o.Opening, kept, firm
	if o.Mortal || o.Outcome == Unknown {
		r.hold = mortal // nobody who could use it knows of it: its node is deleted sooner or later
	}
	return r, true
}

// givenBack lowers the record and frees the worker ID.
func (r record) givenBack(o Op) (record, bool) {
	to := max(r.minimum, r.issued, o.To)
	switch {
	case r.stored(o): // made again, it answers as the first would have
		if o.Outcome == Done {
			r.giving = acknowledged
		}
		return r, r.ceiling == to
	case !r.mine(o):
		return r, false
	}
	r.ceiling, r.issued = to, to
	r.hold, r.giving = gone, acknowledged
	if o.Outcome == Unknown {
		r.giving = stored
	}
	return r, true
}

// stored is whether a Release of the claim was, and nothing has happened since.
func (r record) stored(o Op) bool {
	return r.giving == stored && r.holder == o.Opening
}

// lost needs a reason, and is final. That another has a node on the worker ID is one, and is seen
// only where the holder's own node is not there.
func (r record) lost(o Op) (record, bool) {
	if r.mine(o) && r.hold == firm || o.Kind == Release && r.stored(o) {
		return r, false
	}
	if r.holder == o.Opening {
		r.hold = gone
		if r.giving == kept {
			r.giving = over
		}
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
	return same && found.Ceiling == r.ceiling && found.Issued == r.issued
}

func (r record) String() string {
	claim := map[hold]string{gone: "gone", mortal: "mortal", firm: "held"}[r.hold]
	return fmt.Sprintf("%s by %s: ceiling %d issued %d minimum %d, floor %d", claim, r.holder[:min(len(r.holder), 6)], r.ceiling, r.issued, r.minimum, r.floor)
}
