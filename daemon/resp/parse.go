package resp

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// plainNext is the request that nearly every client sends nearly always. It is compared in whole
// words.
const plainNext = "*1\r\n$4\r\nNEXT\r\n"

const (
	plainHead  = 0x0a0d34240a0d312a // "*1\r\n$4\r\n", the first byte lowest
	plainName  = 0x5458454e         // "NEXT"
	plainEnd   = 0x0a0d             // "\r\n"
	ignoreCase = 0xdfdfdfdf         // clears the bit that tells small letters from capitals
	mostDigits = 10                 // of a length; more cannot be below any limit
)

// leadingNexts counts the plain NEXT requests that in begins with, up to most. They are answered
// with one look at the clock.
func leadingNexts(in []byte, most int) int {
	n := 0
	for len(in) >= len(plainNext) && n < most &&
		binary.LittleEndian.Uint64(in) == plainHead &&
		binary.LittleEndian.Uint32(in[8:])&ignoreCase == plainName &&
		binary.LittleEndian.Uint16(in[12:]) == plainEnd {
		n++
		in = in[len(plainNext):]
	}
	return n
}

// leading counts how often in begins with the same request again, up to most. What is asked for in
// the same bytes is the same, so it is read once, and answered with one look at the clock.
func leading(request, in []byte, most int) int {
	n := 0
	for n < most && bytes.HasPrefix(in, request) {
		n++
		in = in[len(request):]
	}
	return n
}

// parser reads requests.
type parser struct {
	limits Limits
	args   [][]byte // of the last request
	words  []byte   // what its quoted words stand for
}

// parse reads the request that in begins with, and how long it is: 0 if its end is not there yet.
// Its verdict on a request depends on nothing that follows the request, and on nothing that is
// missing, so it is the same however the bytes arrive. The arguments are valid until the next call,
// and as long as in is.
func (p *parser) parse(in []byte) (args [][]byte, n int, r *Refusal) {
	if len(in) == 0 {
		return nil, 0, nil
	}
	if in[0] != '*' {
		return p.parseInline(in)
	}
	count, pos, r := length(in, 1, "number of arguments")
	if pos == 0 || r != nil {
		return nil, 0, r
	}
	if count > p.limits.Args {
		return nil, 0, broken("a request has at most %d arguments, not %d", p.limits.Args, count)
	}
	args = p.args[:0]
	for range count {
		if pos == len(in) {
			return nil, 0, nil
		}
		if in[pos] != '$' {
			return nil, 0, broken("expected '$', got '%s'", shown(in[pos:pos+1]))
		}
		size, start, r := length(in, pos+1, "length of an argument")
		if start == 0 || r != nil {
			return nil, 0, r
		}
		if size < 0 || size > p.limits.Bulk {
			return nil, 0, broken("an argument has at most %d bytes, not %d", p.limits.Bulk, size)
		}
		end := start + size
		if end+2 > p.limits.Request {
			return nil, 0, broken("a request has at most %d bytes", p.limits.Request)
		}
		if len(in) > end && in[end] != '\r' || len(in) > end+1 && in[end+1] != '\n' {
			return nil, 0, broken("an argument of %d bytes is longer than it says", size)
		}
		if len(in) < end+2 {
			return nil, 0, nil
		}
		args = append(args, in[start:end])
		pos = end + 2
	}
	p.args = args
	return args, pos, nil
}

// length reads a decimal number and its line end from in, beginning at pos, and returns where the
// next line begins: 0 if that is not there yet.
func length(in []byte, pos int, what string) (value, next int, r *Refusal) {
	i := pos
	negative := i < len(in) && in[i] == '-'
	if negative {
		i++
	}
	first := i
	for ; i < len(in) && '0' <= in[i] && in[i] <= '9'; i++ {
		if i-first == mostDigits {
			return 0, 0, broken("the %s is too high", what)
		}
		value = value*10 + int(in[i]-'0')
	}
	switch {
	case i == len(in):
		return 0, 0, nil
	case i == first || in[i] != '\r':
		return 0, 0, broken("the %s is not a number", what)
	case i+1 == len(in):
		return 0, 0, nil
	case in[i+1] != '\n':
		return 0, 0, broken("the %s does not end with CR LF", what)
	}
	if negative {
		value = -value
	}
	return value, i + 2, nil
}

func broken(format string, details ...any) *Refusal {
	return Refuse(BrokenFrame, fmt.Sprintf(format, details...))
}
