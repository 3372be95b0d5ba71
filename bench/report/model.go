// Package report is what was measured: figures with the samples of every round, targets and plots.
// It is kept as JSON, so that the page and the plots can be made again without measuring; whatever
// can be computed from the samples is computed when it is shown.
package report

import (
	"slices"

	"github.com/flakeward/flakeward/bench/stat"
)

// Findings are what a section has to say.
type Findings struct {
	Figures []Figure `json:"figures"`
	Plots   []Plot   `json:"plots,omitempty"`
	// Versions are those of the programs and libraries that were measured or measured with, by
	// their names.
	Versions map[string]string `json:"versions,omitempty"`
	// Missing are peers that could not be measured, each with what to do about it: "PostgreSQL:
	// apt-get install postgresql".
	Missing []string `json:"missing,omitempty"`
}

// Add puts the findings of a part of a section to those that there are.
func (f *Findings) Add(more Findings) {
	f.Figures = append(f.Figures, more.Figures...)
	f.Plots = append(f.Plots, more.Plots...)
	f.Missing = append(f.Missing, more.Missing...)
	for name, version := range more.Versions {
		f.Version(name, version)
	}
}

// Version notes the version of a program or library.
func (f *Findings) Version(name, version string) {
	if f.Versions == nil {
		f.Versions = make(map[string]string)
	}
	f.Versions[name] = version
}

// Unit says what a figure's samples count, and so how they are written.
type Unit string

// The units.
const (
	Number  Unit = ""   // a count, or a ratio
	Rate    Unit = "/s" // something a second
	Seconds Unit = "s"  // of time, or of one processor
	Bytes   Unit = "B"
	Share   Unit = "%" // a part of 1, written in percent: 0.15 is 15%
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
	// Derived tells that it is computed from other figures: it has one value and no rounds of its
	// own.
	Derived bool `json:"derived,omitempty"`
	// Absent says why there are no samples, of either side: "PostgreSQL is not installed".
	Absent string `json:"absent,omitempty"`
}

// Statistic is the one value of a figure that its target is about.
type Statistic string

// The statistics.
const (
	OfRatio  Statistic = "ratio"  // the median of ours over the median of theirs
	OfMedian Statistic = "median" // of ours
	OfLeast  Statistic = "least"  // of ours
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

// EachAtLeast gives the figure a target for the least of ours.
func (f Figure) EachAtLeast(limit float64) Figure { return f.aim(OfLeast, true, limit) }

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
	NotRun   Verdict = "not run"
)

// Verdict compares the figure with its target. A target is missed too if its value cannot be told
// from the samples that there are.
func (f Figure) Verdict() Verdict {
	switch {
	case f.Absent != "":
		return NotRun
	case f.Target == nil:
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
		r, err := stat.Ratios(f.Ours, f.Theirs)
		return r.OfMedians, err == nil
	case OfMedian:
		return stat.Median(f.Ours), true
	case OfLeast:
		return slices.Min(f.Ours), true
	case OfMost:
		return slices.Max(f.Ours), true
	}
	return 0, false
}

// Plot is a picture of several lines over one axis, or of bars in groups.
type Plot struct {
	Name  string `json:"name"`  // of its file, without .svg: lower-case letters, digits and hyphens; no other plot has it
	Group string `json:"group"` // the heading of the table that it goes with
	Title string `json:"title"`
	X     Axis   `json:"x"`
	Y     Axis   `json:"y"`
	// Bars draws bars in place of lines: the i-th value of each line stands over the i-th name of
	// X.Names.
	Bars  bool   `json:"bars,omitempty"`
	Lines []Line `json:"lines"`
	// Rounds is how many a point is the median of; 0: as many as the table's figures are, or none.
	Rounds int `json:"rounds,omitempty"`
}

// Axis is one of a plot's two.
type Axis struct {
	Label string   `json:"label"`
	Unit  Unit     `json:"unit,omitempty"`  // of the values
	Log   bool     `json:"log,omitempty"`   // all values have to be above 0
	Names []string `json:"names,omitempty"` // what to write at 0, 1, 2 and so on, in place of numbers
}

// Line is a series of points, of one peer or kind.
type Line struct {
	Name string    `json:"name"`
	X    []float64 `json:"x,omitempty"` // none for bars
	Y    []float64 `json:"y"`
	// Low and High, if there are any, are the spread of each point.
	Low  []float64 `json:"low,omitempty"`
	High []float64 `json:"high,omitempty"`
}
