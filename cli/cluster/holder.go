package cluster

import (
	"fmt"
	"slices"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

// Verdict is how much is known about whose an ID was.
type Verdict string

// The verdicts.
const (
	Held      Verdict = "held"      // somebody's who is known
	Forgotten Verdict = "forgotten" // somebody's who is no longer known
	Nobody    Verdict = "nobody"    // of a worker ID that nobody ever held
	Ungranted Verdict = "ungranted" // of a tick that was never granted
	Elsewhere Verdict = "elsewhere" // of another datacenter, so of another cluster
)

// Finding is what is known about whose an ID was.
type Finding struct {
	Verdict Verdict
	// Interval is the opening that held the worker ID at the tick; nil unless Held.
	Interval *coord.HolderInterval
	// Note says why nobody is named, or what to keep in mind; it may be empty.
	Note string
}

// Holder finds whose an ID was, from the record of its worker ID, nil if it has
// none, and its history, the oldest first. Both were read after the ID was issued.
func (c Cluster) Holder(id generator.Parts, mark *coord.Mark, history []coord.HolderInterval) Finding {
	if c.Layout.Bits(generator.Datacenter) > 0 && id.Datacenter != c.Datacenter {
		return Finding{Verdict: Elsewhere, Note: fmt.Sprintf("it is of datacenter %d and this cluster is datacenter %d: ask that one's", id.Datacenter, c.Datacenter)}
	}
	if id.Worker >= uint64(c.Workers) {
		return Finding{Verdict: Nobody, Note: fmt.Sprintf("nobody ever held worker ID %d: the highest is %d", id.Worker, c.Workers-1)}
	}
	raised := c.Floor > 0 && id.Tick <= c.Floor
	if mark == nil && !slices.ContainsFunc(history, known) {
		if raised {
			return Finding{Verdict: Forgotten, Note: fmt.Sprintf("nobody is known to have held worker ID %d, but the marks were raised to %s since, or the cluster was made to begin then: %s", id.Worker, c.raised(), lost)}
		}
		return Finding{Verdict: Nobody, Note: fmt.Sprintf("nobody ever held worker ID %d", id.Worker)}
	}
	if id.Tick < 1 {
		return Finding{Verdict: Ungranted, Note: "tick 0 is never issued"}
	}
	damaged := mark != nil && mark.Damaged
	if ceiling, granted := c.granted(mark, id.Tick); !granted && !damaged {
		return Finding{Verdict: Ungranted, Note: fmt.Sprintf("this coordinator granted worker ID %d up to %s: the ID was never issued here, "+
			"or was granted before the coordinator was restored from a backup", id.Worker, Time(c.Layout.StartOf(ceiling)))}
	}
	at := len(history) - 1
	for at >= 0 && id.Tick <= history[at].From {
		at--
	}
	switch {
	case at < 0:
		return Finding{Verdict: Forgotten, Note: c.forgotten(id, history)}
	case !known(history[at]):
		return Finding{Verdict: Forgotten, Note: fmt.Sprintf("who held worker ID %d then is not known: the marks were raised to %s since: %s", id.Worker, c.raised(), lost)}
	}
	found := Finding{Verdict: Held, Interval: &history[at]}
	switch {
	case raised && (at == len(history)-1 || history[at+1].From >= c.Floor || !known(history[at+1])):
		found.Note = fmt.Sprintf("the marks were raised to %s since, or the cluster was made to begin then: %s", c.raised(), lost)
	case damaged:
		found.Note = "the worker ID's record is damaged: whether the tick was ever granted is not known"
	}
	return found
}

// known reports whether an entry names somebody. One that does not stands for
// whatever a restored coordinator had lost when its marks were raised.
func known(t coord.HolderInterval) bool { return t.Incarnation != "" }

// granted reports whether a tick may have been granted, and otherwise up to where all before it may
// have been.
func (c Cluster) granted(mark *coord.Mark, tick generator.Tick) (before generator.Tick, granted bool) {
	if tick <= c.Floor {
		return 0, true
	}
	if mark == nil {
		return c.Floor, false
	}
	if !mark.Damaged && tick <= mark.Ceiling {
		return 0, true
	}
	return max(mark.Ceiling, c.Floor), false
}

// lost is what a raise tells of what came before it.
const lost = "if that was after a restore, whoever came after the backup is not known"

func (c Cluster) raised() string { return Time(c.Layout.StartOf(c.Floor)) }

func (c Cluster) forgotten(id generator.Parts, history []coord.HolderInterval) string {
	if len(history) == 0 {
		return fmt.Sprintf("who held worker ID %d is no longer known", id.Worker)
	}
	return fmt.Sprintf("who held worker ID %d then is no longer known: the oldest entry begins at %s",
		id.Worker, Time(c.Layout.StartOf(history[0].From+1)))
}
