// Package tsc measures ages with the processor's time stamp counter. Reading it took 10 to 26 ns
// where it was measured.
//
// The system's monotonic clock costs several times as much. It reads the same counter where the
// kernel trusts it. The kernel's clock source is then "tsc": the counters of all processors agree,
// run at one rate, and never stop. There an age limit is counted as a budget in cycles of the
// counter. Each sample calibrates the counter against the monotonic clock, so a budget is surely
// within its limit. In doubt the budget is 0 cycles, and the clock has to be asked.
package tsc

import "time"

// Sample is a time by both clocks. The counter is read between two readings of the monotonic clock.
type Sample struct {
	At     time.Time // the first reading, so the earliest; with the wall clock's
	Cycles uint64
	after  time.Time
}

// Now takes a sample.
func Now() Sample {
	b := Sample{At: time.Now()}
	b.Cycles = Cycles()
	b.after = time.Now()
	return b
}

// Younger reports whether less than limit has passed since the sample, by the monotonic clock and
// by the wall clock. The wall clock goes on while the machine is suspended; the monotonic clock
// does not. After the wall clock was set forward, Younger may report false too early.
func (b Sample) Younger(limit time.Duration) bool {
	now := time.Now()
	return younger(now.Sub(b.At), time.Duration(now.UnixNano()-b.At.UnixNano()), limit)
}

func younger(monotonic, wall, limit time.Duration) bool { return monotonic < limit && wall < limit }

const (
	// span is how far apart two samples have to be to show the counter's rate. After fresh the later
	// sample replaces the earlier one, and the kernel is asked again whether it trusts the counter.
	span  = time.Millisecond
	fresh = time.Second
	// blur is how far the rate's two bounds may be apart; more, when a reading was interrupted.
	blur = 1.0 / 128
	// slack is by how much the clock and the counter may drift apart, as while the clock is slewed
	// (at most by 1 in 2,000).
	slack = 1.0 / 256
	// early is by how much two readings of the counter may be off against each other: the processor
	// reads it some hundred instructions before or after its neighbours, and the counters of two
	// processors agree to a fraction of that. A limit so short has no budget.
	early = time.Microsecond
	// mostMisses is how often the counter may disagree with the clock, as it does when the machine
	// is suspended.
	mostMisses = 3
)

// Calibration knows the rate of the counter. One goroutine owns it. The zero value does not use the
// counter. A calibration stops using the counter that has disagreed with the clock too often.
type Calibration struct {
	trusted func() bool // asks the kernel; nil: the counter is not to be used
	anchor  Sample
	low     float64 // cycles a nanosecond, at least and at most; 0: not known
	high    float64
	misses  int
}

// NewCalibration returns a calibration of the machine's counter.
func NewCalibration() *Calibration {
	if !trusted() {
		return &Calibration{}
	}
	return &Calibration{trusted: trusted}
}

// Budget returns how many cycles of the counter after the sample are surely within limit; 0: not
// known. The samples of one calibration come in their order.
func (c *Calibration) Budget(b Sample, limit time.Duration) uint64 {
	if c.trusted == nil {
		return 0
	}
	c.observe(b)
	if c.low == 0 || limit <= early {
		return 0
	}
	return uint64(c.low * float64(limit-early) * (1 - slack))
}

func (c *Calibration) observe(b Sample) {
	if c.anchor.At.IsZero() {
		c.anchor = b
		return
	}
	if b.Cycles < c.anchor.Cycles {
		c.doubt(b)
		return
	}
	least, most := b.At.Sub(c.anchor.after), b.after.Sub(c.anchor.At)
	if least < span {
		return
	}
	cycles := float64(b.Cycles - c.anchor.Cycles)
	low, high := cycles/float64(most), cycles/float64(least)
	if low == 0 || high-low > low*blur {
		if least > fresh {
			c.anchor = b
		}
		return
	}
	if c.low != 0 && (low*(1-slack) > c.high || high < c.low*(1-slack)) {
		c.doubt(b)
		return
	}
	c.low, c.high = low, high
	if least > fresh {
		c.anchor = b
		if !c.trusted() {
			*c = Calibration{}
		}
	}
}

// doubt starts the calibration again, or stops using the counter.
func (c *Calibration) doubt(b Sample) {
	if c.misses++; c.misses > mostMisses {
		*c = Calibration{}
		return
	}
	c.anchor, c.low, c.high = b, 0, 0
}
