// Package wire is the client's side of the Redis protocol, as much of it as a daemon speaks:
// requests to append, and a reader of the replies to NEXT, RUN and INFO. It is strict: what is not
// exactly such a reply comes from something that is no flakeward daemon, and IDs from there must
// not be handed out.
package wire

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// AppendCommand appends one request.
func AppendCommand(b []byte, args ...string) []byte {
	b = append(b, '*')
	b = strconv.AppendInt(b, int64(len(args)), 10)
	b = append(b, '\r', '\n')
	for _, a := range args {
		b = append(b, '$')
		b = strconv.AppendInt(b, int64(len(a)), 10)
		b = append(b, '\r', '\n')
		b = append(b, a...)
		b = append(b, '\r', '\n')
	}
	return b
}

// Refused is an error reply, without its dash and its line end: the request got nothing, the
// connection goes on.
type Refused string

func (r Refused) Error() string { return "the daemon refused: " + string(r) }

// ErrFrame is what the Reader returns for bytes that are not the reply asked for.
var ErrFrame = errors.New("no such reply in RESP")

const (
	bufferSize = 256 << 10
	maxArray   = 1 << 20 // elements
	maxBulk    = 1 << 20 // bytes; INFO of one lane has about five thousand, of 64 some ten times as many
)

// Pair is a run of IDs: the first, and how many there are. The step between them is the reply's.
type Pair struct{ First, N int64 }

// Reader reads replies. Each method reads one whole reply and returns a Refused if it is an error
// reply, io.EOF if the connection ended between replies, and io.ErrUnexpectedEOF if it ended within
// one. After any error but a Refused the reader must not be used again.
type Reader struct{ in *bufio.Reader }

// NewReader reads from in, with a buffer for many replies.
func NewReader(in io.Reader) *Reader { return NewReaderSize(in, bufferSize) }

// NewReaderSize reads from in, with a buffer of so many bytes, which is also the longest line.
func NewReaderSize(in io.Reader, size int) *Reader { return &Reader{in: bufio.NewReaderSize(in, size)} }

// Send sends a request to where the replies come from. A daemon that is full refuses a connection
// unasked, and closes it: then the error is that refusal.
func (r *Reader) Send(to io.Writer, request []byte) error {
	_, err := to.Write(request)
	if err == nil {
		return nil
	}
	if line, e := r.line(); e == nil && line[0] == '-' && len(line) > 1 {
		return Refused(line[1:])
	}
	return err
}

// OK reads a reply that says no more than that all is well.
func (r *Reader) OK() error {
	line, err := r.line()
	switch {
	case err != nil:
		return err
	case line[0] == '-':
		return Refused(line[1:])
	case string(line) != "+OK":
		return fmt.Errorf("%w: %.40q where OK was expected", ErrFrame, line)
	}
	return nil
}

// Int reads an integer.
func (r *Reader) Int() (int64, error) {
	return r.head(':')
}

// Ints reads an array of integers and appends them to dst; after an error dst is as it was.
func (r *Reader) Ints(dst []int64) ([]int64, error) {
	n, err := r.head('*')
	if err != nil {
		return dst, err
	}
	if n < 0 || n > maxArray {
		return dst, fmt.Errorf("%w: an array of %d", ErrFrame, n)
	}
	all := dst
	for range n {
		v, err := r.int()
		if err != nil {
			return dst, err
		}
		all = append(all, v)
	}
	return all, nil
}

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

// Bulk reads a bulk string.
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
		return 0, Refused(line[1:])
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
	switch {
	case err == io.EOF:
		return io.ErrUnexpectedEOF
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, ErrFrame):
		return err
	}
	return fmt.Errorf("%w: %w", io.ErrUnexpectedEOF, err) // a reset, say
}

// integer reads what follows the line's kind: digits, and a minus before them or not. It allocates
// nothing.
func integer(line []byte, kind byte) (int64, error) {
	n, err := strconv.ParseInt(string(line[1:]), 10, 64)
	if line[0] != kind || err != nil || line[1] == '+' {
		return 0, fmt.Errorf("%w: %.40q where '%c' and an integer was expected", ErrFrame, line, kind)
	}
	return n, nil
}
