package pace

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// replies cuts a stream of RESP into replies, whatever pieces it comes in, and counts the IDs in
// them. It keeps no reply.
type replies struct {
	runs bool // see Load.Runs

	line  []byte // the beginning of a line that is not whole yet
	bulk  int64  // bytes of a string that are still to come
	left  int64  // values that are still to come in the reply under way; 0: none is
	index int64  // of the next value among the reply's integers
	now   reply
}

// reply is what one reply held.
type reply struct {
	ids     int64
	refused bool // an error, or with an error in it
}

const (
	longestLine = 64 << 10
	mostValues  = 1 << 20 // in an array
	mostBytes   = 1 << 29 // in a string, as in Redis
)

var errNotRESP = errors.New("the server's reply is no RESP")

// parse reads from the front of b until a reply is whole, and returns what follows it. If ok is
// false, all of b was read and the reply is not whole yet.
func (r *replies) parse(b []byte) (rest []byte, got reply, ok bool, err error) {
	for {
		if r.bulk > 0 {
			n := min(r.bulk, int64(len(b)))
			if b, r.bulk = b[n:], r.bulk-n; r.bulk > 0 {
				return nil, reply{}, false, nil
			}
			if r.ends() {
				return b, r.now, true, nil
			}
		}
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			if len(r.line)+len(b) > longestLine {
				return nil, reply{}, false, fmt.Errorf("%w: a line of more than %d bytes", errNotRESP, longestLine)
			}
			r.line = append(r.line, b...)
			return nil, reply{}, false, nil
		}
		line := b[:end+1]
		b = b[end+1:]
		if len(r.line) > 0 {
			r.line = append(r.line, line...)
			line = r.line
		}
		whole, err := r.value(line)
		r.line = r.line[:0]
		if err != nil {
			return nil, reply{}, false, err
		}
		if whole && r.ends() {
			return b, r.now, true, nil
		}
	}
}

// ends takes note that a value is whole, and tells whether the reply is.
func (r *replies) ends() bool {
	r.left--
	return r.left == 0
}

// value reads a value's line, with its end, and tells whether the value is whole with it.
func (r *replies) value(line []byte) (whole bool, err error) {
	n := len(line) - 2
	if n < 1 || n > longestLine || line[n] != '\r' {
		return false, fmt.Errorf("%w: the line %.80q", errNotRESP, line)
	}
	if r.left == 0 {
		r.left, r.index, r.now = 1, 0, reply{}
	}
	kind, text := line[0], line[1:n]
	switch kind {
	case '+':
		return true, nil
	case '-':
		r.now.refused = true
		return true, nil
	}
	v, err := integer(text)
	if err != nil {
		return false, fmt.Errorf("%w: the line %.80q", errNotRESP, line)
	}
	switch {
	case kind == ':':
		return true, r.integer(v)
	case kind == '$' && v >= -1 && v <= mostBytes:
		if v >= 0 {
			r.bulk = v + 2
		}
		return v < 0, nil
	case kind == '*' && v >= -1 && v <= mostValues && r.left <= mostValues:
		if v < 1 {
			return true, nil
		}
		r.left += v - 1 // the array's own place is its first value's
		return false, nil
	}
	return false, fmt.Errorf("%w: the line %.80q", errNotRESP, line)
}

// integer counts the IDs of an integer: of runs every second one after the step says how many, else
// each is one.
func (r *replies) integer(v int64) error {
	i := r.index
	r.index++
	switch {
	case !r.runs:
		r.now.ids++
	case i == 0 || i%2 == 1:
	case v < 1 || v > mostValues:
		return fmt.Errorf("%w: a run of %d IDs", errNotRESP, v)
	default:
		r.now.ids += v
	}
	return nil
}

// integer reads a decimal number. It allocates nothing for one of up to 18 digits.
func integer(text []byte) (int64, error) {
	digits, sign := text, int64(1)
	if len(digits) > 0 && digits[0] == '-' {
		digits, sign = digits[1:], -1
	}
	if len(digits) == 0 || len(digits) > 18 {
		return strconv.ParseInt(string(text), 10, 64)
	}
	var n int64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, strconv.ErrSyntax
		}
		n = n*10 + int64(c-'0')
	}
	return sign * n, nil
}
