package tally

import (
	"slices"
	"sync/atomic"
	"time"
)

// Bounds are the upper bounds of a Histogram's buckets, in seconds.
var Bounds = [...]float64{
	5e-6, 10e-6, 20e-6, 50e-6, 100e-6, 200e-6, 500e-6, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10,
}

// Histogram counts durations. Its methods may be called from any goroutine. The zero value is ready
// for use.
type Histogram struct {
	nanos  atomic.Uint64
	counts [len(Bounds) + 1]atomic.Uint64
}

// Observe counts n requests that took d each. A negative d counts as 0.
func (h *Histogram) Observe(n uint64, d time.Duration) {
	d = max(d, 0)
	at, _ := slices.BinarySearch(Bounds[:], d.Seconds())
	h.counts[at].Add(n)
	h.nanos.Add(n * uint64(d))
}

// Durations is what a Histogram has counted.
type Durations struct {
	Sum time.Duration
	// Counts is how many took at most as long as the bound of that index, and longer than the one
	// below. The last has all longer ones.
	Counts [len(Bounds) + 1]uint64
}

// Read reads the histogram. What is counted meanwhile may be in Counts, and not in Sum.
func (h *Histogram) Read() (d Durations) {
	d.Sum = time.Duration(h.nanos.Load())
	for i := range d.Counts {
		d.Counts[i] = h.counts[i].Load()
	}
	return d
}
