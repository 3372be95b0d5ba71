package stat_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/flakeward/flakeward/bench/stat"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{nil, 0},
		{[]float64{3}, 3},
		{[]float64{4, 1}, 2.5},
		{[]float64{9, 1, 5}, 5},
		{[]float64{9, 1, 5, 7}, 6},
		{[]float64{2, 2, 2, 100}, 2},
		{[]float64{math.MaxFloat64, math.MaxFloat64}, math.MaxFloat64},
	} {
		given := slices.Clone(c.values)
		if got := stat.Median(given); got != c.want {
			t.Errorf("the median of %v is %v, want %v", c.values, got, c.want)
		}
		if !slices.Equal(given, c.values) {
			t.Errorf("Median made %v of %v", given, c.values)
		}
	}
}

// As many values lie below the median as above it, whatever their order.
func TestMedianIsInTheMiddle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-1e9, 1e9), 1, 20).Draw(t, "values")
		m := stat.Median(values)
		below, above := 0, 0
		for _, v := range values {
			if v < m {
				below++
			}
			if v > m {
				above++
			}
		}
		if 2*below > len(values) || 2*above > len(values) {
			t.Fatalf("%d below and %d above %v in %v", below, above, m, values)
		}
	})
}

func TestRatios(t *testing.T) {
	for _, c := range []struct {
		name string
		a, b []float64
		want stat.Ratio
	}{
		{"one round", []float64{3}, []float64{2}, stat.Ratio{OfMedians: 1.5, Median: 1.5, Min: 1.5, Max: 1.5}},
		{"each round with its own", []float64{10, 40, 90}, []float64{10, 20, 30}, stat.Ratio{OfMedians: 2, Median: 2, Min: 1, Max: 3}},
		{"paired and pooled differ", []float64{1, 2, 3}, []float64{0.5, 2, 2}, stat.Ratio{OfMedians: 1, Median: 1.5, Min: 1, Max: 2}},
	} {
		got, err := stat.Ratios(c.a, c.b)
		if err != nil || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", c.name, got, err, c.want)
		}
	}
}

func TestRatiosRefuses(t *testing.T) {
	for _, c := range []struct{ a, b []float64 }{
		{nil, nil},
		{[]float64{1}, nil},
		{[]float64{1, 2}, []float64{1}},
		{[]float64{1, 2}, []float64{1, 0}},
		{[]float64{1}, []float64{-1}},
		{[]float64{1}, []float64{math.NaN()}},
	} {
		if got, err := stat.Ratios(c.a, c.b); err == nil {
			t.Errorf("%v to %v gave %+v and no error", c.a, c.b, got)
		}
	}
}
