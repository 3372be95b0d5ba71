package resp

import (
	"slices"
	"strconv"
)

// line is an ID in decimal digits as a reply, kept to make the next one from, on whichever
// connection that is asked for: nearly always it differs in the last two digits alone. Its zero
// value except for the kind is empty.
type line struct {
	kind   byte // of the reply: ':' integer, '$' bulk string
	id     int64
	low    uint64           // the last two digits of id; noLow: the next one is made anew
	text   [widestLine]byte // a reply that differs from id's in those two digits at most; what is behind it does not matter
	length int
}

const (
	// widestLine has room for every ID, and is copied in four words.
	widestLine = 32
	noLow      = 100

	// What an ID needs at most, as an integer or a big number and as a string.
	widestID     = len(":9223372036854775807\r\n")
	widestString = len("$19\r\n9223372036854775807\r\n")

	// pairs are the numbers from 00 to 99.
	pairs = "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899"
)

// newLine makes the line that of id.
func newLine(kind byte, id int64) line {
	l := line{kind: kind, id: id, low: noLow}
	text := append(l.text[:0], kind)
	if kind == '$' {
		var digits [20]byte
		text = append(strconv.AppendInt(text, int64(len(strconv.AppendInt(digits[:0], id, 10))), 10), '\r', '\n')
	}
	l.length = len(append(strconv.AppendInt(text, id, 10), '\r', '\n'))
	if id >= 10 {
		l.low = uint64(id % 100)
	}
	return l
}

// appendRun appends n replies, the ID of each step above the one before.
func (l *line) appendRun(out []byte, first, step int64, n int) []byte {
	width := widestID
	if l.kind == '$' {
		width = widestString
	}
	out = slices.Grow(out, n*width+widestLine)
	id, low := l.id, l.low
	if l.length == 0 {
		low = noLow
	}
	for range n {
		if further := uint64(first - id); further < noLow && low+further < noLow {
			low += further
		} else {
			*l = newLine(l.kind, first)
			low = l.low
		}
		id = first
		first += step
		at := len(out)
		// The whole array, though the reply is shorter: what is too much is written over, or never
		// sent.
		out = out[:at+widestLine]
		*(*[widestLine]byte)(out[at:]) = l.text
		if low < noLow {
			copy(out[at+l.length-len("00\r\n"):], pairs[2*low:2*low+2])
		}
		out = out[:at+l.length]
	}
	l.id, l.low = id, low
	return out
}
