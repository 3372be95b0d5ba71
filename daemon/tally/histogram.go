package tally

import (
	"math"
	"sync/atomic"
	"time"
)

// The buckets of a Histogram. Those of the native form are 2^(1/4) apart.
const (
	// Schema is the resolution of the native buckets: 2^Schema of them double a duration.
	Schema = 2
	// FirstBucket is the index of the native bucket that also has all shorter durations: up to
	// 2^(FirstBucket/4) s, which is 1 us.
	FirstBucket = -20 << Schema
	// buckets reach up to 4096 s. The last has all longer durations.
	buckets = 1 + 32<<Schema
)

// Bounds are the upper bounds of the classic buckets, in seconds.
var Bounds = [...]float64{10e-6, 25e-6, 50e-6, 100e-6, 250e-6, 500e-6, .001, .0025, .005, .01, .05, .1, .5, 1, 2.5, 10}

// Histogram counts durations, in native buckets and in classic ones. Its methods may be called from
// any goroutine. The zero value is ready for use.
type Histogram struct {
	nanos   atomic.Uint64
	native  [buckets]atomic.Uint64
	classic [len(Bounds)]atomic.Uint64
}

// Observe counts n requests that took d each. A negative d counts as 0.
func (h *Histogram) Observe(n uint64, d time.Duration) {
	d = max(d, 0)
	seconds := d.Seconds()
	at := 0
	if d > time.Second>>(-FirstBucket>>Schema) { // above the first bucket's bound
		at = min(int(math.Ceil(math.Log2(seconds)*(1<<Schema)))-FirstBucket, buckets-1)
	}
	h.native[max(at, 0)].Add(n)
	bound := 0
	for bound < len(Bounds) && seconds > Bounds[bound] {
		bound++
	}
	if bound < len(Bounds) {
		h.classic[bound].Add(n)
	}
	h.nanos.Add(n * uint64(d))
}

// Durations is what a Histogram has counted.
type Durations struct {
	Count  uint64
	Sum    time.Duration
	Native [buckets]uint64 // by index, less FirstBucket
	// Classic is how many took at most as long as the bound of that index.
	Classic [len(Bounds)]uint64
}

// Read reads the histogram. What is counted meanwhile may be in Count and Native, and not in Classic
// and Sum.
func (h *Histogram) Read() (d Durations) {
	d.Sum = time.Duration(h.nanos.Load())
	var below uint64
	for i := range d.Classic {
		below += h.classic[i].Load()
		d.Classic[i] = below
	}
	for i := range d.Native {
		d.Native[i] = h.native[i].Load()
		d.Count += d.Native[i]
	}
	return d
}

// Bound is the upper bound of the native bucket of an index, in seconds.
func Bound(index int) float64 { return math.Exp2(float64(index+FirstBucket) / (1 << Schema)) }
