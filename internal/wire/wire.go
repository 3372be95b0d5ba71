// Package wire is the client's side of the daemon's RESP dialect, as little of it
// as the drills need and fast enough to keep up: requests to append, and a reader
// of the replies to NEXT, RUN and INFO.
package wire

import (
	"bufio"
	"errors"
	"fmt"
	"io"
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

// Refused is an error reply: the request got nothing, the connection goes on.
type Refused string

func (r Refused) Error() string { return "the daemon refused: " + string(r) }

// ErrFrame is what the Reader returns for bytes that are not the reply asked for.
var ErrFrame = errors.New("no such reply in RESP")

const (
	bufferSize = 256 << 10
	maxArray   = 1 << 20 // elements
	maxBulk    = 1 << 20 // bytes
)

// Reader reads replies. Each method reads one whole reply and returns a Refused if it is an error
// reply, io.EOF if the connection ended between replies, and io.ErrUnexpectedEOF if it ended within
// one.
type Reader struct{ in *bufio.Reader }

// NewReader reads from in.
func NewReader(in io.Reader) *Reader { return &Reader{in: bufio.NewReaderSize(in, bufferSize)} }

// Int reads an integer.
func (r *Reader) Int() (int64, error) {
	line, err := r.head()
	if err != nil {
		return 0, err
	}
	return integer(line, ':')
}

// Ints reads an array of integers and appends them to dst; after an error dst is as it was.
func (r *Reader) Ints(dst []int64) ([]int64, error) {
	line, err := r.head()
	if err != nil {
		return dst, err
	}
	n, err := integer(line, '*')
	if err != nil {
		return dst, err
	}
	if n < 0 || n > maxArray {
		return dst, fmt.Errorf("%w: an array of %d", ErrFrame, n)
	}
	all := dst
	for range n {
		line, err := r.line()
		if err != nil {
			return dst, within(err)
		}
		v, err := integer(line, ':')
		if err != nil {
			return dst, err
		}
		all = append(all, v)
	}
	return all, nil
}

// Bulk reads a bulk string.
func (r *Reader) Bulk() (string, error) {
	line, err := r.head()
	if err != nil {
		return "", err
	}
	n, err := integer(line, '$')
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

// head reads a reply's first line.
func (r *Reader) head() ([]byte, error) {
	line, err := r.line()
	if err != nil {
		return nil, err
	}
	if line[0] == '-' {
		return nil, Refused(line[1:])
	}
	return line, nil
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
		return nil, fmt.Errorf("%w: %q", ErrFrame, line)
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

func integer(line []byte, kind byte) (int64, error) {
	if line[0] != kind || len(line) < 2 {
		return 0, fmt.Errorf("%w: %q where '%c' and an integer was expected", ErrFrame, line, kind)
	}
	digits, sign := line[1:], int64(1)
	if digits[0] == '-' {
		digits, sign = digits[1:], -1
	}
	const most = 18 // digits that fit into an int64 whatever they are
	if len(digits) > most || len(digits) == 0 {
		n, err := strconv.ParseInt(string(line[1:]), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%w: %q", ErrFrame, line)
		}
		return n, nil
	}
	var n int64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, fmt.Errorf("%w: %q", ErrFrame, line)
		}
		n = n*10 + int64(c-'0')
	}
	return sign * n, nil
}

// Expand appends the IDs of a reply to RUN to dst.
func Expand(dst, reply []int64) ([]int64, error) {
	if len(reply)%2 != 1 || reply[0] < 1 {
		return dst, fmt.Errorf("%w: %d integers are no runs", ErrFrame, len(reply))
	}
	all := dst
	for i := 1; i < len(reply); i += 2 {
		first, n := reply[i], reply[i+1]
		if n < 1 || n > maxArray {
			return dst, fmt.Errorf("%w: a run of %d", ErrFrame, n)
		}
		for j := range n {
			all = append(all, first+j*reply[0])
		}
	}
	return all, nil
}
