package audit

import (
	"slices"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/generator"
)

// told is what one start of a daemon was told of raises: whoever makes a call after a raise, and
// has its answer, knows of the newest one. Of a tree that another has replaced it cannot be told
// what it has answered: it may have been a raise of its own.
type told struct {
	raises []Raise // of the last tree
	all    []Raise // of those before it, too
	known  []knownRaise
	calls  map[uint64]evidence.Event // the beginnings of those that have not ended
	lost   map[string]bool           // openings that were: later calls on them ask nobody
}

// knownRaise is one that a daemon knew of, or a newer one.
type knownRaise struct {
	Raise
	highest generator.Tick // the floor of the newest one that it may have been told of
	at      evidence.Mono
}

func newTold(p past) *told {
	t := &told{calls: map[uint64]evidence.Event{}, lost: map[string]bool{}}
	t.all = p.raises
	for _, r := range p.raises {
		if r.has(p.trees - 1) {
			t.raises = append(t.raises, r)
		}
	}
	return t
}

// hears notes that a call begins or ends.
func (t *told) hears(e evidence.Event) {
	if len(t.raises) == 0 {
		return
	}
	switch e.Kind {
	case evidence.Claiming, evidence.Extending, evidence.Releasing:
		t.calls[e.Call] = e
		return
	case evidence.Claimed, evidence.Extended, evidence.Released, evidence.Failed:
	default:
		return
	}
	began, answered := t.calls[e.Call]
	delete(t.calls, e.Call)
	if e.Kind == evidence.Failed {
		answered = answered && e.Ending == evidence.Denied && !t.lost[began.Opening]
		if answered && began.Kind != evidence.Claiming {
			t.lost[began.Opening] = true
		}
	}
	if newest, ok := newestOf(t.raises, began.At); ok && answered {
		highest, _ := newestOf(t.all, e.At)
		t.known = append(t.known, knownRaise{newest, max(newest.Floor, highest.Floor), e.At})
	}
}

// newestOf is the raise that was made last, by an instant.
func newestOf(raises []Raise, by evidence.Mono) (Raise, bool) {
	made, _ := slices.BinarySearchFunc(raises, by+1, func(r Raise, at evidence.Mono) int { return int(r.At - at) })
	if made == 0 {
		return Raise{}, false
	}
	return raises[made-1], true
}

// cuts returns the lowest floor that an opening's lane is cut at, for what is recorded at an
// instant. What was taken before the daemon knew may be recorded a little later.
func (t *told) cuts(h *held, at evidence.Mono) (lowest generator.Tick, cut bool) {
	if h == nil || h.known == nil {
		return 0, false
	}
	for _, r := range t.known {
		if h.known.precedes(r.Raise) && at > r.at+slow && (!cut || r.highest < lowest) {
			lowest, cut = r.highest, true
		}
	}
	return lowest, cut
}
