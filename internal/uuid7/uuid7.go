// Package uuid7 writes IDs as UUIDs of version 7 (RFC 9562), and reads the IDs back.
//
// A UUID has, from its highest bit down, the Unix time in milliseconds, to which the ID's tick is
// rounded down (48 bits), the version (4 bits), 12 bits, the variant (2 bits), and 62 bits. The
// 12 and 62 bits have in this order:
//
//   - bits of the SHA-256 of the cluster's UUID, as many as there is room for, at least 11;
//   - which of the ticks that begin in this millisecond: no bit if a tick is 1 ms or longer;
//   - the ID without its time field, in the order of the ID's bits.
//
// A UUID is unique because its ID is, not by chance. Two clusters' UUIDs differ unless those bits
// of their hashes are equal. UUIDs of a layout whose highest field is the time sort as its IDs do.
// UUIDs of other layouts sort by time, as every version 7 does, and within a tick as their IDs do.
//
// docs/forms.md has the algorithm for other languages, with vectors.
package uuid7

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"
	"time"

	"github.com/flakeward/flakeward/generator"
)

const (
	version = 7
	variant = 2
	// milli is a millisecond in nanoseconds.
	milli = uint64(time.Millisecond)
	// timeBits is the width of a UUID's time.
	timeBits = 48
)

// Coder writes the IDs of one cluster as UUIDs and reads them back. Its methods do not change it:
// any number of goroutines may use it.
type Coder struct {
	cluster string
	layout  *generator.Layout

	tick, epoch uint64 // ns
	maxTick     uint64
	maxID       int64

	shift     int // of the time field
	width     int // of the time field
	below     int // of all other fields together
	remainder int // bits of which tick of its millisecond
	carried   int // below and remainder, at most 63

	// The bits that are the same in each UUID: version, variant and hash, and the masks of the
	// bits that are not, time apart.
	fixedHigh, fixedLow, maskHigh, maskLow uint64
}

// New makes a coder for IDs of layout l and the cluster with a UUID, as the cluster record has it.
// It refuses a layout with ticks that a UUID cannot hold: before 1970, or from the year 10889 on,
// when the milliseconds exceed 48 bits.
func New(l *generator.Layout, cluster string) (*Coder, error) {
	first, last := l.StartOf(0), l.StartOf(l.MaxTick())
	if first.Unix() < 0 {
		return nil, fmt.Errorf("layout %s begins before 1970: a UUID of version 7 has no such times: take a later epoch, or another form", l)
	}
	if !last.Before(time.UnixMilli(1 << timeBits)) {
		return nil, fmt.Errorf("layout %s ends after the year 10889: a UUID of version 7 has no such times: take fewer time bits, or another form", l)
	}
	one, err := l.Compose(generator.Parts{Tick: 1})
	if err != nil {
		return nil, err
	}
	c := &Coder{
		cluster: cluster, layout: l,
		tick: uint64(l.TickLength()), epoch: uint64(l.Epoch().UnixNano()), maxTick: uint64(l.MaxTick()),
		shift: bits.TrailingZeros64(uint64(one)), width: l.Bits(generator.Time),
	}
	for _, f := range [...]generator.Field{generator.Datacenter, generator.Worker, generator.Tenant, generator.Sequence} {
		c.below += l.Bits(f)
	}
	c.maxID = 1<<(c.below+c.width) - 1
	// At most ceil(milli/tick) ticks begin in a millisecond.
	if c.tick < milli {
		c.remainder = min(bits.Len64((milli-1)/c.tick), c.width)
	}
	c.carried = c.remainder + c.below
	hash := sha256.Sum256([]byte(cluster))
	c.maskHigh, c.maskLow = split(1<<c.carried - 1)
	c.fixedHigh = version<<12 | binary.BigEndian.Uint64(hash[:8])&0xfff&^c.maskHigh
	c.fixedLow = variant<<62 | binary.BigEndian.Uint64(hash[8:16])&(1<<62-1)&^c.maskLow
	return c, nil
}

// split puts v, below 2^63, at the end of a UUID: its lowest 62 bits below the variant, and the
// highest above the variant, as the lowest bit of the high word.
func split(v uint64) (high, low uint64) { return v >> 62, v & (1<<62 - 1) }

// milliOf is the millisecond since 1970 in which tick t, at most maxTick, begins.
func (c *Coder) milliOf(t uint64) uint64 {
	hi, lo := bits.Mul64(t, c.tick)
	lo, carry := bits.Add64(lo, c.epoch, 0)
	q, _ := bits.Div64(hi+carry, lo, milli) // below 2^48, as New has seen
	return q
}

// firstOf is the first tick that begins in millisecond ms, at most 48 bits, or later.
func (c *Coder) firstOf(ms uint64) uint64 {
	hi, lo := bits.Mul64(ms, milli)
	lo, borrow := bits.Sub64(lo, c.epoch, 0)
	if hi < borrow {
		return 0
	}
	lo, carry := bits.Add64(lo, c.tick-1, 0)
	t, _ := bits.Div64(hi-borrow+carry, lo, c.tick) // the high word is below 2^5, a tick at least 1000
	return t
}

// Encode returns the 16 bytes of an ID's UUID. An ID that is not of the layout is an error.
func (c *Coder) Encode(of int64) (u [16]byte, err error) {
	if of < 0 || of > c.maxID {
		_, err = c.layout.Decompose(of)
		return u, err
	}
	id := uint64(of)
	t := id >> c.shift & c.maxTick
	ms := c.milliOf(t)
	carried := id>>(c.shift+c.width)<<c.shift | id&(1<<c.shift-1)
	if c.remainder > 0 {
		carried |= (t - c.firstOf(ms)) << c.below
	}
	high, low := split(carried)
	binary.BigEndian.PutUint64(u[:8], ms<<16|c.fixedHigh|high)
	binary.BigEndian.PutUint64(u[8:], c.fixedLow|low)
	return u, nil
}

// Decode returns the ID of a UUID. It takes only what Encode returns. The error says what else the
// UUID is.
func (c *Coder) Decode(u [16]byte) (int64, error) {
	high, low := binary.BigEndian.Uint64(u[:8]), binary.BigEndian.Uint64(u[8:])
	if low>>62 != variant {
		return 0, fmt.Errorf("its variant is none of RFC 9562's: the 17th hexadecimal digit is %x, not 8, 9, a or b", low>>60)
	}
	if v := high >> 12 & 0xf; v != version {
		return 0, fmt.Errorf("it is of version %d, and an ID's UUID is of version 7: it was made elsewhere", v)
	}
	if high&0xfff&^c.maskHigh|version<<12 != c.fixedHigh || low&^c.maskLow != c.fixedLow {
		return 0, fmt.Errorf("it is of another cluster than %s, of another layout, or no ID's: decode it where it was made", c.cluster)
	}
	ms := high >> 16
	carried := (high&c.maskHigh)<<62 | low&c.maskLow
	t := c.firstOf(ms) + carried>>c.below
	if t > c.maxTick || c.milliOf(t) != ms {
		return 0, fmt.Errorf("no tick of layout %s begins in its millisecond, or not as many: it was made with another layout, or is no ID's", c.layout)
	}
	rest := carried & (1<<c.below - 1)
	return int64(rest>>c.shift<<(c.shift+c.width) | t<<c.shift | rest&(1<<c.shift-1)), nil
}
