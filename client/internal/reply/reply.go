// Package reply reads what a daemon answers to RUN and INFO, in the Redis protocol: strictly, since
// what is not exactly such an answer comes from something that is no flakeward daemon, and IDs from
// there must not be handed out.
package reply

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// Refusal is an error reply, without its dash and its line end: the request got nothing, the
// connection goes on.
type Refusal string

func (r Refusal) Error() string { return string(r) }

// ErrFrame is in the error for bytes that are no such reply.
var ErrFrame = errors.New("no such reply")

const (
	bufferSize = 4 << 10  // also the longest line; a refusal has at most some hundred bytes
	maxBulk    = 64 << 10 // INFO has about two thousand bytes
)

// Pair is a run of IDs: the first, and how many there are. The step between them is the reply's.
type Pair struct{ First, N int64 }

// Reader reads replies. Each method reads one whole reply. Besides a Refusal and errors that wrap
// ErrFrame it returns what reading failed with: io.EOF if the connection ended between two replies,
// io.ErrUnexpectedEOF if within one. After any error but a Refusal the reader must not be used
// again.
type Reader struct{ in *bufio.Reader }

// NewReader reads from in.
func NewReader(in io.Reader) *Reader { return &Reader{in: bufio.NewReaderSize(in, bufferSize)} }

// Runs reads the reply to RUN most, and appends its pairs to dst. All IDs are 0 or higher; there
// are at least one and at most most of them. After an error dst is as it was.
func (r *Reader) Runs(dst []Pair, most int64) (pairs []Pair, step int64, err error) {
	n, err := r.head('*')
	if err != nil {
		return dst, 0, err
	}
	if n < 3 || n%2 != 1 || (n-1)/2 > most {
		return dst, 0, fmt.Errorf("%w: an array of %d integers, where a step and runs of at most %d IDs were expected", ErrFrame, n, most)
	}
	if step, err = r.int(); err != nil {
		return dst, 0, err
	}
	if step < 1 {
		return dst, 0, fmt.Errorf("%w: a step of %d", ErrFrame, step)
	}
	pairs = dst
	var total int64
	for range (n - 1) / 2 {
		var p Pair
		if p.First, err = r.int(); err != nil {
			return dst, 0, err
		}
		if p.N, err = r.int(); err != nil {
			return dst, 0, err
		}
		if p.First < 0 || p.N < 1 || p.N > most-total || p.N-1 > (math.MaxInt64-p.First)/step {
			return dst, 0, fmt.Errorf("%w: a run of %d IDs from %d on in steps of %d, of %d IDs that were asked for", ErrFrame, p.N, p.First, step, most)
		}
		total += p.N
		pairs = append(pairs, p)
	}
	return pairs, step, nil
}

// Bulk reads a string.
func (r *Reader) Bulk() (string, error) {
	n, err := r.head('$')
	if err != nil {
		return "", err
	}
	if n < 0 || n > maxBulk {
		return "", fmt.Errorf("%w: a string of %d bytes", ErrFrame, n)
	}
	b := make([]byte, n+2)
	if _, err := io.ReadFull(r.in, b); err != nil {
		return "", within(err)
	}
	if string(b[n:]) != "\r\n" {
		return "", fmt.Errorf("%w: a string without its end", ErrFrame)
	}
	return string(b[:n]), nil
}

// head reads a reply's first line: a kind and a number, or a refusal.
func (r *Reader) head(kind byte) (int64, error) {
	line, err := r.line()
	if err != nil {
		return 0, err
	}
	if line[0] == '-' && len(line) > 1 {
		return 0, Refusal(line[1:])
	}
	return integer(line, kind)
}

// int reads an integer within a reply.
func (r *Reader) int() (int64, error) {
	line, err := r.line()
	if err != nil {
		return 0, within(err)
	}
	return integer(line, ':')
}

// line reads a line of at least one byte, without its end; valid until the next read.
func (r *Reader) line() ([]byte, error) {
	line, err := r.in.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, fmt.Errorf("%w: a line without an end", ErrFrame)
	case err != nil && len(line) > 0:
		return nil, within(err)
	case err != nil:
		return nil, err
	case len(line) < 3 || line[len(line)-2] != '\r':
		return nil, fmt.Errorf("%w: %.40q", ErrFrame, line)
	}
	return line[:len(line)-2], nil
}

// within is err, met within a reply.
func within(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// integer reads what follows the line's kind: digits, and a minus before them or not.
func integer(line []byte, kind byte) (int64, error) {
	if line[0] != kind || len(line) < 2 || line[1] == '+' {
		return 0, fmt.Errorf("%w: %.40q where '%c' and an integer was expected", ErrFrame, line, kind)
	}
	n, err := strconv.ParseInt(string(line[1:]), 10, 64) // the conversion does not escape, so it allocates nothing
	if err != nil {
		return 0, fmt.Errorf("%w: %.40q is no integer", ErrFrame, line)
	}
	return n, nil
}

// MaxCount finds in the text of INFO how many IDs one request may ask for; 0: it does not say, as
// no flakeward daemon does.
func MaxCount(info string) int64 {
	if n, err := strconv.ParseInt(value(info, "max_count"), 10, 32); err == nil && n > 0 {
		return n
	}
	return 0
}

// Cluster finds in the text of INFO the UUID of the daemon's cluster; empty: it is in none yet.
func Cluster(info string) string { return value(info, "cluster_id") }

// value is what the first line with a key says; empty if there is none.
func value(info, key string) string {
	for line := range strings.Lines(info) {
		if k, v, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok && k == key {
			return v
		}
	}
	return ""
}

// Unavailable takes the text of an UNAVAILABLE refusal apart: why there are no IDs, after how long
// the daemon gave up, and how much longer it would have taken. A time that the text does not tell
// is 0.
func Unavailable(text string) (reason string, after, another time.Duration) {
	reason, whole := strings.CutSuffix(text, "; try again later")
	if !whole {
		return text, 0, 0
	}
	if rest, ok := strings.CutSuffix(reason, " would have been needed"); ok {
		if i := strings.LastIndex(rest, ", another "); i >= 0 {
			if d, err := time.ParseDuration(rest[i+len(", another "):]); err == nil && d > 0 {
				reason, another = rest[:i], d
			}
		}
	}
	if i := strings.LastIndex(reason, "; gave up after "); i >= 0 {
		if d, err := time.ParseDuration(reason[i+len("; gave up after "):]); err == nil && d > 0 {
			reason, after = reason[:i], d
		}
	}
	return reason, after, another
}
