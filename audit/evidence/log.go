package evidence

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
)

// A log is a line that says what it is, and then one frame for each entry: the length of the payload
// (4 bytes, little-endian), and the payload, which encoding/gob made in one stream of all of them.
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

// DamageError is what reading returns for a log that is none, or has an entry that is none. A log that
// was merely cut off is not damaged.
type DamageError struct {
	Path   string
	Offset int64 // bytes, of the entry's frame
	Reason string
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("%s is damaged at byte %d: %s", e.Path, e.Offset, e.Reason)
}

// errTorn means that the log ends within a frame, or within its first line.
var errTorn = errors.New("cut off")

// reader reads the entries of a log. At its end it may be asked again: it goes on where it stood, with
// what was appended meanwhile.
type reader[E any] struct {
	r      io.Reader
	path   string
	magic  string // the first line; empty once it was read
	buf    []byte // what was read and not yet consumed is buf[at:]
	at     int
	offset int64 // of buf[at] in the log

	payload bytes.Buffer
	in      *gob.Decoder // of payload
}

func newReader[E any](r io.Reader, path, magic string) *reader[E] {
	l := &reader[E]{r: r, path: path, magic: magic}
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
	at := l.offset
	b, err := l.next()
	if err == io.EOF || err == errTorn {
		return e, false, nil
	}
	if err != nil {
		return e, false, err
	}
	l.payload.Reset()
	l.payload.Write(b)
	if err := l.in.Decode(&e); err != nil || l.payload.Len() > 0 {
		return e, false, &DamageError{Path: l.path, Offset: at, Reason: fmt.Sprintf("it is no %T (%v)", e, err)}
	}
	return e, true, nil
}

// next returns the next payload, which is good until the call after it. The error is
// io.EOF at the end, errTorn, a *DamageError, or one of reading.
func (l *reader[E]) next() ([]byte, error) {
	if l.magic != "" {
		err := l.need(len(l.magic))
		have := l.buf[l.at:]
		if !bytes.HasPrefix(have, []byte(l.magic)[:min(len(l.magic), len(have))]) {
			return nil, &DamageError{Path: l.path, Offset: l.offset, Reason: fmt.Sprintf("its first line is not %q", l.magic)}
		}
		if err != nil {
			return nil, err
		}
		l.consume(len(l.magic))
		l.magic = ""
	}
	if err := l.need(headBytes); err != nil {
		return nil, err
	}
	whole := headBytes + int(binary.LittleEndian.Uint32(l.buf[l.at:]))
	if err := l.need(whole); err != nil {
		return nil, err
	}
	payload := l.buf[l.at+headBytes : l.at+whole]
	l.consume(whole)
	return payload, nil
}

func (l *reader[E]) consume(n int) {
	l.at += n
	l.offset += int64(n)
}

// need reads until n bytes are there. It returns io.EOF if the log ends with nothing
// left, and errTorn if it ends with less than n.
func (l *reader[E]) need(n int) error {
	for len(l.buf)-l.at < n {
		if l.at > 0 {
			l.buf = l.buf[:copy(l.buf, l.buf[l.at:])]
			l.at = 0
		}
		if len(l.buf) == cap(l.buf) {
			// By what is there, not by n: a length is not to be trusted with memory.
			l.buf = append(make([]byte, 0, max(1<<16, 2*cap(l.buf))), l.buf...)
		}
		got, err := l.r.Read(l.buf[len(l.buf):cap(l.buf)])
		l.buf = l.buf[:len(l.buf)+got]
		switch {
		case got > 0:
		case err == io.EOF && len(l.buf) == 0:
			return io.EOF
		case err == io.EOF:
			return errTorn
		case err != nil:
			return fmt.Errorf("%s: %w", l.path, err)
		}
	}
	return nil
}
