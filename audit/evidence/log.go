package evidence

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// A log is a line that says what it is, and then one frame for each entry: the length of the
// payload (4 bytes, little-endian), and the payload, which encoding/gob made in one stream of all
// of them.
const headBytes = 4

// create makes a log that holds only its first line.
func create(path, magic string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("evidence: %w", err)
	}
	// Whatever the umask: others judge it.
	if err := f.Chmod(0o644); err != nil {
		return nil, errors.Join(fmt.Errorf("evidence: %w", err), f.Close())
	}
	if _, err := f.WriteString(magic); err != nil {
		return nil, errors.Join(fmt.Errorf("evidence: %w", err), f.Close())
	}
	return f, nil
}

// encoder makes frames.
type encoder struct {
	buf bytes.Buffer
	out *gob.Encoder
}

// frame returns an entry's frame, which is good until the call after it.
func (c *encoder) frame(entry any) ([]byte, error) {
	if c.out == nil {
		c.out = gob.NewEncoder(&c.buf)
	}
	c.buf.Reset()
	c.buf.Write(make([]byte, headBytes))
	if err := c.out.Encode(entry); err != nil {
		return nil, fmt.Errorf("evidence: %w", err)
	}
	b := c.buf.Bytes()
	binary.LittleEndian.PutUint32(b, uint32(len(b)-headBytes))
	return b, nil
}

// DamageError is what reading returns for a log that is none, or has an entry that is none. A log
// that was merely cut off is not damaged.
type DamageError struct {
	Path   string
	Offset int64 // bytes, of the entry's frame
	Reason string
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("%s is damaged at byte %d: %s", e.Path, e.Offset, e.Reason)
}

// reader reads the entries of a log. At its end it may be asked again: it goes on where it stood,
// with what was appended meanwhile.
type reader[E any] struct {
	r      *bufio.Reader
	path   string
	magic  string // the first line; empty once it was read
	offset int64

	payload bytes.Buffer
	in      *gob.Decoder // of payload
}

// mostBytes is more than an entry has: a length is not to be trusted with memory.
const mostBytes = 1 << 18

func newReader[E any](r io.Reader, path, magic string) *reader[E] {
	l := &reader[E]{r: bufio.NewReaderSize(r, mostBytes), path: path, magic: magic}
	l.in = gob.NewDecoder(&l.payload)
	return l
}

// read calls f with each entry of the log at path.
func read[E any](path, magic string, f func(E) error) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("evidence: %w", err)
	}
	defer file.Close() // it was only read
	return newReader[E](file, path, magic).each(f)
}

func (l *reader[E]) each(f func(E) error) error {
	for {
		e, ok, err := l.Next()
		if err != nil || !ok {
			return err
		}
		if err := f(e); err != nil {
			return err
		}
	}
}

// Next returns the next entry, or false if no whole one has been appended yet: ask
// again later. It does not wait. The error is a *DamageError or one of reading, and final.
func (l *reader[E]) Next() (e E, ok bool, err error) {
	if l.magic != "" {
		have, whole, err := l.peek(len(l.magic))
		switch {
		case err != nil:
			return e, false, err
		case !strings.HasPrefix(l.magic, string(have)):
			return e, false, l.damaged("its first line is not %q", l.magic)
		case !whole:
			return e, false, nil
		}
		l.consume(len(l.magic))
		l.magic = ""
	}
	head, whole, err := l.peek(headBytes)
	if err != nil || !whole {
		return e, false, err
	}
	frame := headBytes + int(binary.LittleEndian.Uint32(head))
	b, whole, err := l.peek(frame)
	if err != nil || !whole {
		return e, false, err
	}
	l.payload.Reset()
	l.payload.Write(b[headBytes:])
	if err := l.in.Decode(&e); err != nil || l.payload.Len() > 0 {
		return e, false, l.damaged("it is no %T (%v)", e, err)
	}
	l.consume(frame)
	return e, true, nil
}

// peek returns the next n bytes, and whether they are all there yet.
func (l *reader[E]) peek(n int) (b []byte, whole bool, err error) {
	b, err = l.r.Peek(n)
	switch {
	case err == io.EOF:
		return b, false, nil
	case err == bufio.ErrBufferFull:
		return nil, false, l.damaged("no entry has %d bytes", n)
	case err != nil:
		return nil, false, fmt.Errorf("%s: %w", l.path, err)
	}
	return b, true, nil
}

func (l *reader[E]) consume(n int) {
	_, _ = l.r.Discard(n) // they are there
	l.offset += int64(n)
}

func (l *reader[E]) damaged(format string, args ...any) error {
	return &DamageError{Path: l.path, Offset: l.offset, Reason: fmt.Sprintf(format, args...)}
}
