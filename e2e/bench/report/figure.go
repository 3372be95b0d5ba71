// Package report is what was measured: figures with the samples of every round, and targets. It is
// kept as JSON, so that one section can be measured again and the others stay; whatever can be
// computed from the samples is computed when it is shown.
package report

import (
	"fmt"
	"slices"
)

// Unit says what a figure's samples count, and so how they are written.
type Unit string

// The units.
const (
	Number  Unit = ""   // a count, or a ratio
	Rate    Unit = "/s" // something a second
	Seconds Unit = "s"  // of time, or of one processor
	Bytes   Unit = "B"
)

// Figure is one line of a table: what was measured of the daemon, and of a peer if there is one to
// compare it with.
type Figure struct {
	Group string `json:"group"` // the table's heading
	What  string `json:"what"`
	Unit  Unit   `json:"unit"`
	// Ours are the samples, one of each round. If there is a peer, Theirs[i] was measured right
	// after (or before) Ours[i].
	Ours   []float64 `json:"ours,omitempty"`
	Peer   string    `json:"peer,omitempty"` // what is next to it: "Redis INCR"; empty if nothing is
	Theirs []float64 `json:"theirs,omitempty"`
	Target *Target   `json:"target,omitempty"`
	// Note says in short what belongs to the figure: what holds it back if the target is missed.
	Note string `json:"note,omitempty"`
}

// Statistic is the one value of a figure that its target is about.
type Statistic string

// The statistics.
const (
	OfRatio  Statistic = "ratio"  // the median of ours over the median of theirs
	OfMedian Statistic = "median" // of ours
	OfMost   Statistic = "most"   // of ours
)

// Target is a bound.
type Target struct {
	Of      Statistic `json:"of"`
	AtLeast bool      `json:"at_least"` // else at most
	Limit   float64   `json:"limit"`    // in the figure's unit, or a ratio
}

// RatioAtLeast gives the figure a target: ours has to be limit times theirs or more.
func (f Figure) RatioAtLeast(limit float64) Figure { return f.aim(OfRatio, true, limit) }

// RatioAtMost gives the figure a target: ours has to be limit times theirs or less.
func (f Figure) RatioAtMost(limit float64) Figure { return f.aim(OfRatio, false, limit) }

// AtLeast gives the figure a target for the median of ours.
func (f Figure) AtLeast(limit float64) Figure { return f.aim(OfMedian, true, limit) }

// AtMost gives the figure a target for the median of ours.
func (f Figure) AtMost(limit float64) Figure { return f.aim(OfMedian, false, limit) }

// EachAtMost gives the figure a target for the most of ours.
func (f Figure) EachAtMost(limit float64) Figure { return f.aim(OfMost, false, limit) }

func (f Figure) aim(of Statistic, atLeast bool, limit float64) Figure {
	f.Target = &Target{Of: of, AtLeast: atLeast, Limit: limit}
	return f
}

// Verdict is what became of a target.
type Verdict string

// The verdicts.
const (
	NoTarget Verdict = ""
	Met      Verdict = "met"
	NotMet   Verdict = "NOT MET"
)

// Verdict compares the figure with its target. A target is missed too if its value cannot be told
// from the samples that there are.
func (f Figure) Verdict() Verdict {
	if f.Target == nil {
		return NoTarget
	}
	if v, ok := f.value(f.Target.Of); ok && f.Target.holds(v) {
		return Met
	}
	return NotMet
}

func (t Target) holds(v float64) bool {
	if t.AtLeast {
		return v >= t.Limit
	}
	return v <= t.Limit
}

func (f Figure) value(of Statistic) (v float64, ok bool) {
	if len(f.Ours) == 0 {
		return 0, false
	}
	switch of {
	case OfRatio:
		v, _, _, err := ratios(f.Ours, f.Theirs)
		return v, err == nil
	case OfMedian:
		return Median(f.Ours), true
	case OfMost:
		return slices.Max(f.Ours), true
	}
	return 0, false
}

// Median is the middle of values, or the mean of the two in the middle. It is 0 if there are none,
// and leaves values as they are.
func Median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(n-1)/2]/2 + sorted[n/2]/2
}

// ratios compares a with b, which were measured in turn: a[i] just before b[i]. What slows the
// machine down for a while then slows both, and cancels out. It returns the ratio of the medians,
// and the least and the most of the rounds' own. It is an error if they are not of the same length,
// if there are none, or if some b is not above 0.
func ratios(a, b []float64) (ofMedians, least, most float64, err error) {
	if len(a) != len(b) || len(a) == 0 {
		return 0, 0, 0, fmt.Errorf("no ratio of %d measurements to %d: each needs a partner", len(a), len(b))
	}
	paired := make([]float64, len(a))
	for i := range a {
		if !(b[i] > 0) {
			return 0, 0, 0, fmt.Errorf("no ratio to %v, measurement %d of %d", b[i], i+1, len(b))
		}
		paired[i] = a[i] / b[i]
	}
	return Median(a) / Median(b), slices.Min(paired), slices.Max(paired), nil
}
