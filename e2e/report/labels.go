package report

import (
	"fmt"
	"math"
	"slices"
)

// mark is one fault, or several that are too close to be told apart, on a lane.
type mark struct {
	from, to float64 // where it is drawn
	faults   []Fault
	label    string
	row      int     // of the label, from above
	text     float64 // where the label begins
}

const (
	labelSize = 11.0
	labelRow  = 14.0
	mostRows  = 3
)

// labelled makes the marks of faults, which are in order of their times, so that the labels lie in
// at most three rows and none overlaps another. If there are too many for that, neighbours of one
// sort share a label, then any neighbours. x says where an instant lies.
func labelled(faults []Fault, x func(Fault) (from, to float64), left, right float64) (marks []mark, rows int) {
	if len(faults) == 0 {
		return nil, 0
	}
	for _, same := range []bool{true, false} {
		for near := 3.0; near < 2*(right-left); near *= 2 {
			marks = gather(faults, x, near, same)
			if rows := place(marks, left, right); rows <= mostRows {
				return marks, rows
			}
		}
	}
	marks = gather(faults, x, math.Inf(1), false)
	return marks, place(marks, left, right)
}

// gather joins faults that are nearer to each other than near; with same, only those of one sort.
func gather(faults []Fault, x func(Fault) (from, to float64), near float64, same bool) []mark {
	var marks []mark
	for _, f := range faults {
		from, to := x(f)
		// With same, one of another sort between two does not part them.
		i := len(marks) - 1
		for same && i >= 0 && family(marks[i].faults[0].Kind) != family(f.Kind) {
			i--
		}
		if i >= 0 && from-marks[i].to < near {
			marks[i].to = max(marks[i].to, to)
			marks[i].faults = append(marks[i].faults, f)
		} else {
			marks = append(marks, mark{from: from, to: to, faults: []Fault{f}})
		}
	}
	for i := range marks {
		marks[i].label = label(marks[i].faults)
	}
	return marks
}

// label names faults: what they have in common, and how many they are.
func label(faults []Fault) string {
	kind := shorten(oneLine(faults[0].Kind), 40)
	if len(faults) == 1 {
		return kind
	}
	equal := func(of func(string) string) bool {
		return !slices.ContainsFunc(faults, func(f Fault) bool { return of(f.Kind) != of(faults[0].Kind) })
	}
	switch {
	case equal(func(kind string) string { return kind }):
		return fmt.Sprintf("%d × %s", len(faults), kind)
	case equal(family):
		return fmt.Sprintf("%d × %s", len(faults), shorten(family(kind), 40))
	}
	return plural(len(faults), "fault")
}

// place finds a row for each label in which it overlaps none, and says how many rows there are.
func place(marks []mark, left, right float64) (rows int) {
	const gap = 8
	var ends []float64
	for i := range marks {
		m := &marks[i]
		w := width(m.label, labelSize)
		m.text = max(left, min(m.from+3, right-w))
		m.row = slices.IndexFunc(ends, func(end float64) bool { return end+gap <= m.text })
		if m.row < 0 {
			m.row = len(ends)
			ends = append(ends, 0)
		}
		ends[m.row] = m.text + w
	}
	return len(ends)
}
