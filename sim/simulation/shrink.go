package simulation

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
)

// With is the plan with only some of its faults, by their numbers.
func (p Plan) With(keep []int) Plan {
	var faults []Fault
	for i, f := range p.Faults {
		if slices.Contains(keep, i) {
			faults = append(faults, f)
		}
	}
	p.Faults = faults
	return p
}

// Shrink leaves faults out of a plan that shows a violation, as long as there is one, and returns
// what is left: the plan, the numbers of its faults in the plan that was given, and what it shows.
func Shrink(p Plan) (Plan, []int, Result) {
	keep := make([]int, len(p.Faults))
	for i := range keep {
		keep[i] = i
	}
	result := Run(p, nil)
	for size := (len(keep) + 1) / 2; size > 0 && result.Violation != ""; {
		fewer := false
		for at := 0; at < len(keep); {
			tried := slices.Delete(slices.Clone(keep), at, min(at+size, len(keep)))
			if r := Run(p.With(tried), nil); r.Violation != "" {
				keep, result, fewer = tried, r, true
				continue
			}
			at += size
		}
		if !fewer || size > 1 {
			size /= 2
		}
	}
	return p.With(keep), keep, result
}

// Compare runs a plan twice and says whether, and where, the traces differ; empty if they do not.
func Compare(p Plan) string {
	var a, b bytes.Buffer
	first, second := Run(p, &a), Run(p, &b)
	if reflect.DeepEqual(first, second) && bytes.Equal(a.Bytes(), b.Bytes()) {
		return ""
	}
	x, y := bytes.Split(a.Bytes(), []byte("\n")), bytes.Split(b.Bytes(), []byte("\n"))
	for i := range min(len(x), len(y)) {
		if !bytes.Equal(x[i], y[i]) {
			return fmt.Sprintf("two runs differ at line %d: %q and %q", i+1, x[i], y[i])
		}
	}
	return fmt.Sprintf("two runs differ: %+v and %+v", first, second)
}

// Add adds up what happened.
func (c *Counts) Add(d Counts) {
	c.Faults += d.Faults
	c.OfClocks += d.OfClocks
	c.IDs += d.IDs
	c.Served += d.Served
	c.Refused += d.Refused
	c.Events += d.Events
	c.Starts += d.Starts
	c.Handovers += d.Handovers
	c.Again += d.Again
	c.Released += d.Released
	c.Unordered += d.Unordered
	c.Drawn += d.Drawn
	c.Rolled += d.Rolled
	c.Simulated += d.Simulated
}
