package generator

import (
	"fmt"
	"math"
	"math/bits"
	"time"
)

// TickLength returns how long a tick lasts, at least 1 us.
func (l *Layout) TickLength() time.Duration { return time.Duration(l.tick) }

// Ticks rounds d up to whole ticks.
func (l *Layout) Ticks(d time.Duration) Tick { return Tick((d + l.TickLength() - 1) / l.TickLength()) }

// Epoch returns the start of tick 0, in UTC.
func (l *Layout) Epoch() time.Time { return time.Unix(0, l.epoch).UTC() }

// MaxTick returns the last tick that fits into the time field.
func (l *Layout) MaxTick() Tick { return l.maxTick }

// TickAt returns the tick that the instant unixNanos (ns since 1970) lies in:
// floor((unixNanos - epoch) / tick length). It is negative before the epoch
// and may be above MaxTick. Instants so far from the epoch that their distance
// does not fit into int64 nanoseconds count as the furthest that does.
func (l *Layout) TickAt(unixNanos int64) Tick {
	since := unixNanos - l.epoch
	if since < 0 || unixNanos < l.epoch {
		return l.tickAtFar(unixNanos)
	}
	hi, _ := bits.Mul64(uint64(since), l.reciprocal)
	return Tick(hi >> l.reduce)
}

// tickAtFar is TickAt for instants before the epoch or more than int64 nanoseconds away from it.
func (l *Layout) tickAtFar(unixNanos int64) Tick {
	since := unixNanos - l.epoch
	switch {
	case unixNanos >= l.epoch && since < 0:
		since = math.MaxInt64
	case unixNanos < l.epoch && since >= 0:
		since = math.MinInt64
	}
	t := since / l.tick
	if since%l.tick < 0 {
		t--
	}
	return Tick(t)
}

// UnixNanos returns the start of tick t in ns since 1970. Ticks that start beyond what int64
// nanoseconds hold (the years 1677 to 2262) give the nearest value that fits.
func (l *Layout) UnixNanos(t Tick) int64 {
	// Flipping the sign bit maps int64 to uint64 in order, where the carry tells what does not fit.
	const sign = 1 << 63
	hi, lo := bits.Mul64(magnitude(int64(t)), uint64(l.tick))
	if t < 0 {
		diff, borrow := bits.Sub64(uint64(l.epoch)^sign, lo, 0)
		if hi != 0 || borrow != 0 {
			return math.MinInt64
		}
		return int64(diff ^ sign)
	}
	sum, carry := bits.Add64(uint64(l.epoch)^sign, lo, 0)
	if hi != 0 || carry != 0 {
		return math.MaxInt64
	}
	return int64(sum ^ sign)
}

// StartOf returns the start of tick t, in UTC.
func (l *Layout) StartOf(t Tick) time.Time {
	hi, lo := bits.Mul64(magnitude(int64(t)), uint64(l.tick))
	seconds, nanos := uint64(maxSeconds), uint64(0)
	if hi < uint64(time.Second) {
		seconds, nanos = bits.Div64(hi, lo, uint64(time.Second))
		if seconds > maxSeconds {
			seconds, nanos = maxSeconds, 0
		}
	}
	epoch := time.Unix(0, l.epoch).UTC()
	if t < 0 {
		return time.Unix(epoch.Unix()-int64(seconds), int64(epoch.Nanosecond())-int64(nanos)).UTC()
	}
	return time.Unix(epoch.Unix()+int64(seconds), int64(epoch.Nanosecond())+int64(nanos)).UTC()
}

// maxSeconds bounds StartOf: 146 billion years, well inside what time.Time holds.
const maxSeconds = 1 << 62

// End returns the first instant after the last tick: from then on the layout
// has no number for the time.
func (l *Layout) End() time.Time { return l.StartOf(l.maxTick + 1) }

// CheckTime returns nil if IDs can be issued at the instant now, and otherwise
// an error that names the epoch or the end of the layout.
func (l *Layout) CheckTime(now time.Time) error {
	t := l.tickAtTime(now)
	if t > l.maxTick {
		return fmt.Errorf("layout %s ran out of time on %s: its %d time bits of %s each are used up; IDs still decode, but to issue take a later epoch (as another cluster: IDs of two epochs do not sort together) or more time bits",
			l, date(l.End()), l.width[Time], formatTick(l.TickLength()))
	}
	if t < 1 {
		return fmt.Errorf("layout %s begins on %s, and the clock says %s: correct the clock, or take an epoch in the past",
			l, date(l.StartOf(1)), date(now))
	}
	return nil
}

// YearsLeft returns how many years of 365.2425 days are left at the instant
// now until End. It is negative once the layout's time is used up.
func (l *Layout) YearsLeft(now time.Time) float64 {
	end := l.End()
	seconds := float64(end.Unix()) - float64(now.Unix()) + float64(end.Nanosecond()-now.Nanosecond())/1e9
	return seconds / (365.2425 * 24 * 60 * 60)
}

// tickAtTime is TickAt for any instant of a time.Time, also those that int64
// nanoseconds do not hold. Instants before the epoch all give -1.
func (l *Layout) tickAtTime(at time.Time) Tick {
	epoch := l.Epoch()
	if at.Before(epoch) {
		return -1
	}
	seconds, nanos := uint64(at.Unix()-epoch.Unix()), int64(at.Nanosecond()-epoch.Nanosecond())
	if nanos < 0 {
		seconds, nanos = seconds-1, nanos+int64(time.Second)
	}
	hi, lo := bits.Mul64(seconds, uint64(time.Second))
	lo, carry := bits.Add64(lo, uint64(nanos), 0)
	hi += carry
	if hi >= uint64(l.tick) {
		return math.MaxInt64
	}
	t, _ := bits.Div64(hi, lo, uint64(l.tick))
	return Tick(min(t, math.MaxInt64))
}

// magnitude returns |v|, also for the lowest int64.
func magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

// date writes an instant for an error message.
func date(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
