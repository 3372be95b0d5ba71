// Package tsc tells whether something is still young, for the price of reading a counter: 10 to 26
// ns where it was measured.
//
// The system's monotonic clock costs several times as much. It reads the processor's time stamp
// counter, too, where the kernel has found that one fit (its clock source is then "tsc": the
// counters of all processors agree, run at one rate, and never stop); then a life is counted in
// cycles of the counter. How many cycles are surely within it is found by holding the counter
// against the monotonic clock, each time that something is born. Wherever there is doubt, the life
// is 0 cycles, and the clock has to be asked.
package tsc

import "time"

// Birth is when something was born: both clocks, the counter read between two readings of the
// monotonic one.
type Birth struct {
	At     time.Time // the first reading, so the earliest; with the wall clock's
	Cycles uint64
	after  time.Time
}

// Now is a moment.
func Now() Birth {
	b := Birth{At: time.Now()}
	b.Cycles = Cycles()
	b.after = time.Now()
	return b
}

// Younger tells whether less than limit has gone by since the birth, by the monotonic clock and by
// the wall clock. The latter goes on while the machine is suspended, which the former does not see;
// where it was only set forward, something young counts as old.
func (b Birth) Younger(limit time.Duration) bool {
	now := time.Now()
	return younger(now.Sub(b.At), time.Duration(now.UnixNano()-b.At.UnixNano()), limit)
}

func younger(monotonic, wall, limit time.Duration) bool { return monotonic < limit && wall < limit }

const (
	// span is how far apart two moments have to be to tell the counter's rate, and fresh after how
	// long the earlier one is given up for a later one and the kernel is asked again what it thinks
	// of the counter.
	span  = time.Millisecond
	fresh = time.Second
	// blur is how far the rate's two bounds may be apart; more, when a reading was interrupted.
	blur = 1.0 / 128
	// slack is by how much the clock and the counter may drift apart, as while the clock is slewed
	// (at most by 1 in 2,000).
	slack = 1.0 / 256
	// early is by how much two readings of the counter may be off against each other: the processor
	// reads it some hundred instructions before or after its neighbours, and the counters of two
	// processors agree to a fraction of that. A life so short is none.
	early = time.Microsecond
	// mostDoubts is how often the counter may have gone another way than the clock, as it does when
	// the machine is suspended.
	mostDoubts = 3
)

// Gauge knows the rate of the counter. One goroutine owns it. The zero value knows nothing yet and
// trusts nothing. Nor does a gauge any more that saw the counter go another way than the clock too
// often.
type Gauge struct {
	trusted func() bool // asks the kernel; nil: the counter is not to be used
	anchor  Birth
	low     float64 // cycles a nanosecond, at least and at most; 0: not known
	high    float64
	doubts  int
}

// NewGauge makes a gauge of the machine's counter.
func NewGauge() *Gauge {
	if !trusted() {
		return &Gauge{}
	}
	return &Gauge{trusted: trusted}
}

// Life is how many cycles of the counter after the birth are surely within limit; 0: not known. The
// births of one gauge come in their order.
func (g *Gauge) Life(b Birth, limit time.Duration) uint64 {
	if g.trusted == nil {
		return 0
	}
	g.observe(b)
	if g.low == 0 || limit <= early {
		return 0
	}
	return uint64(g.low * float64(limit-early) * (1 - slack))
}

func (g *Gauge) observe(b Birth) {
	if g.anchor.At.IsZero() {
		g.anchor = b
		return
	}
	if b.Cycles < g.anchor.Cycles {
		g.doubt(b)
		return
	}
	least, most := b.At.Sub(g.anchor.after), b.after.Sub(g.anchor.At)
	if least < span {
		return
	}
	cycles := float64(b.Cycles - g.anchor.Cycles)
	low, high := cycles/float64(most), cycles/float64(least)
	if low == 0 || high-low > low*blur {
		if least > fresh {
			g.anchor = b
		}
		return
	}
	if g.low != 0 && (low*(1-slack) > g.high || high < g.low*(1-slack)) {
		g.doubt(b)
		return
	}
	g.low, g.high = low, high
	if least > fresh {
		g.anchor = b
		if !g.trusted() {
			*g = Gauge{}
		}
	}
}

// doubt begins again, or gives the counter up.
func (g *Gauge) doubt(b Birth) {
	if g.doubts++; g.doubts > mostDoubts {
		*g = Gauge{}
		return
	}
	g.anchor, g.low, g.high = b, 0, 0
}
