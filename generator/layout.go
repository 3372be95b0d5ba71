package generator

import (
	"fmt"
	"math/bits"
	"time"
)

// Tick counts the layout's units of time (1 ms, 10 ms, 1 s, ...) since the
// layout's epoch. Tick 0 is never issued, so it can stand for "none".
type Tick int64

// Field names one part of an ID.
type Field int

// The fields that an ID may have. Time, Worker and Sequence are in every
// layout; Datacenter and Tenant are optional.
const (
	Time       Field = iota // ticks since the epoch
	Datacenter              // the same for all workers of a cluster, from configuration
	Worker                  // the worker ID, lent by the coordinator
	Tenant                  // chosen by the request; all tenants share the sequence
	Sequence                // tells the IDs of one tick apart
	numFields  = iota
)

var fieldNames = [numFields]string{"time", "datacenter", "worker", "tenant", "sequence"}

// String returns the field's name as it is written in a layout.
func (f Field) String() string {
	if f < 0 || f >= numFields {
		return fmt.Sprintf("Field(%d)", int(f))
	}
	return fieldNames[f]
}

// maxBits is how wide an ID can be: an int64 without its sign.
const maxBits = 63

// minTick is the shortest tick of a layout.
const minTick = time.Microsecond

// Layout says how an ID is put together. It is immutable and safe for
// concurrent use; ParseLayout makes one.
type Layout struct {
	order []Field // highest bits first
	width [numFields]uint8
	shift [numFields]uint8
	total int // bits of all fields together

	tick    int64 // ns, at least minTick
	epoch   int64 // ns since 1970
	maxTick Tick

	// floor(x/tick) = (x*reciprocal) >> (64+reduce) for 0 <= x < 2^63; see newLayout.
	reciprocal uint64
	reduce     uint8
}

// spec is a layout as it was written down: what newLayout validates.
type spec struct {
	fields []fieldSpec
	tick   time.Duration
	epoch  int64 // ns since 1970
}

type fieldSpec struct {
	field Field
	width int
}

// newLayout validates s and precomputes what the hot path needs.
func newLayout(s spec) (*Layout, error) {
	l := &Layout{tick: int64(s.tick), epoch: s.epoch}
	for _, f := range s.fields {
		if f.width < 1 || f.width > maxBits {
			return nil, fmt.Errorf("field %s is %d bits wide: give it 1 to %d bits, or leave it out", f.field, f.width, maxBits)
		}
		if l.width[f.field] != 0 {
			return nil, fmt.Errorf("field %s is there twice: name each field once", f.field)
		}
		l.width[f.field] = uint8(f.width)
		l.order = append(l.order, f.field)
		l.total += f.width
	}
	for _, f := range [...]Field{Time, Worker, Sequence} {
		if l.width[f] == 0 {
			return nil, fmt.Errorf("field %s is missing: time, worker and sequence are required", f)
		}
	}
	if l.total > maxBits {
		return nil, fmt.Errorf("the fields take %d bits together: make them narrower, an ID holds at most %d", l.total, maxBits)
	}
	if s.tick < minTick {
		return nil, fmt.Errorf("field time has a tick of %v: the shortest tick is %v", s.tick, minTick)
	}
	below := l.total
	for _, f := range l.order {
		below -= int(l.width[f])
		l.shift[f] = uint8(below)
	}
	l.maxTick = Tick(l.Max(Time))

	// Division by an invariant, after Granlund and Montgomery, "Division by Invariant Integers
	// using Multiplication" (PLDI 1994), theorem 4.2, with N = 63: for d <= 2^k and m =
	// ceil(2^(63+k)/d), floor(m*x / 2^(63+k)) is floor(x/d) for every 0 <= x < 2^63. With the
	// smallest such k, m fits into 64 bits. A tick is at least 1000 ns, so k-1 is not negative.
	d := uint64(l.tick)
	k := bits.Len64(d - 1)
	m, rest := bits.Div64(1<<(k-1), 0, d)
	if rest != 0 {
		m++
	}
	l.reciprocal, l.reduce = m, uint8(k-1)
	return l, nil
}

// Bits returns the width of field f in bits; 0 if the layout does not have it.
func (l *Layout) Bits(f Field) int {
	if f < 0 || f >= numFields {
		return 0
	}
	return int(l.width[f])
}

// Max returns the largest value that field f holds; 0 if the layout does not have it.
func (l *Layout) Max(f Field) uint64 {
	return 1<<l.Bits(f) - 1
}

// Workers returns how many worker IDs there are: 0 to Workers()-1.
func (l *Layout) Workers() int {
	return 1 << l.width[Worker]
}

// Step returns the distance between neighbours in a run of IDs: 1 if the
// sequence is the lowest field, else a larger power of two.
func (l *Layout) Step() int64 {
	return 1 << l.shift[Sequence]
}

// maxID returns the largest ID of the layout.
func (l *Layout) maxID() int64 {
	return 1<<l.total - 1
}
