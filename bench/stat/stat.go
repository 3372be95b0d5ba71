// Package stat sums up repeated measurements: medians, and the ratio of two things
// that were measured in turn.
package stat

import (
	"fmt"
	"slices"
)

// Median is the middle of values, or the mean of the two in the middle. It is 0 if
// there are none, and leaves values as they are.
func Median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	if n%2 == 1 {
		return sorted[n/2]
	}
	return sorted[n/2-1]/2 + sorted[n/2]/2
}

// Ratio is how one thing compares with another over several rounds, each of which
// measured both.
type Ratio struct {
	OfMedians float64 // the median of the one over the median of the other
	Median    float64 // of the rounds' own ratios
	Min, Max  float64 // of the rounds' own ratios
}

// Ratios compares a with b, which were measured in turn: a[i] just before b[i]. What
// slows the machine down for a while then slows both, and cancels out. It is an
// error if they are not of the same length, if there are none, or if some b is not
// above 0.
func Ratios(a, b []float64) (Ratio, error) {
	if len(a) != len(b) || len(a) == 0 {
		return Ratio{}, fmt.Errorf("no ratio of %d measurements to %d: each needs a partner", len(a), len(b))
	}
	paired := make([]float64, len(a))
	for i := range a {
		if !(b[i] > 0) {
			return Ratio{}, fmt.Errorf("no ratio to %v, measurement %d of %d", b[i], i+1, len(b))
		}
		paired[i] = a[i] / b[i]
	}
	return Ratio{OfMedians: Median(a) / Median(b), Median: Median(paired), Min: slices.Min(paired), Max: slices.Max(paired)}, nil
}
