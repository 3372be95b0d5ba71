package evidence

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A log is a line that says what it is, and then one frame for each entry: the length of the payload
// (4 bytes, little-endian), and the payload. That is varints, most of them differences from the entry
// before.
const headBytes = 4

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

// seal turns b, which is headBytes of room and then the payload, into a frame.
func seal(b []byte) []byte {
	binary.LittleEndian.PutUint32(b, uint32(len(b)-headBytes))
	return b
}

// errTorn means that the log ends within a frame, or within its first line.
var errTorn = errors.New("cut off")

// frames reads the frames of a log. After io.EOF or errTorn it may be asked again:
// it goes on where it stood, with what was appended meanwhile.
type frames struct {
	r      io.Reader
	path   string
	magic  string // the first line; empty once it was read
	buf    []byte // what was read and not yet consumed is buf[at:]
	at     int
	offset int64 // of buf[at] in the log
}

// next returns the next payload, which is good until the call after it. The error is
// io.EOF at the end, errTorn, a *DamageError, or one of reading.
func (f *frames) next() ([]byte, error) {
	if f.magic != "" {
		err := f.need(len(f.magic))
		have := f.buf[f.at:]
		if !bytes.HasPrefix(have, []byte(f.magic)[:min(len(f.magic), len(have))]) {
			return nil, &DamageError{Path: f.path, Offset: f.offset, Reason: fmt.Sprintf("its first line is not %q", f.magic)}
		}
		if err != nil {
			return nil, err
		}
		f.consume(len(f.magic))
		f.magic = ""
	}
	if err := f.need(headBytes); err != nil {
		return nil, err
	}
	whole := headBytes + int(binary.LittleEndian.Uint32(f.buf[f.at:]))
	if err := f.need(whole); err != nil {
		return nil, err
	}
	payload := f.buf[f.at+headBytes : f.at+whole]
	f.consume(whole)
	return payload, nil
}

func (f *frames) consume(n int) {
	f.at += n
	f.offset += int64(n)
}

// need reads until n bytes are there. It returns io.EOF if the log ends with nothing
// left, and errTorn if it ends with less than n.
func (f *frames) need(n int) error {
	for len(f.buf)-f.at < n {
		if f.at > 0 {
			f.buf = f.buf[:copy(f.buf, f.buf[f.at:])]
			f.at = 0
		}
		if len(f.buf) == cap(f.buf) {
			// By what is there, not by n: a length is not to be trusted with memory.
			f.buf = append(make([]byte, 0, max(1<<16, 2*cap(f.buf))), f.buf...)
		}
		got, err := f.r.Read(f.buf[len(f.buf):cap(f.buf)])
		f.buf = f.buf[:len(f.buf)+got]
		switch {
		case got > 0:
		case err == io.EOF && len(f.buf) == 0:
			return io.EOF
		case err == io.EOF:
			return errTorn
		case err != nil:
			return fmt.Errorf("%s: %w", f.path, err)
		}
	}
	return nil
}

// ended reports whether err is an end of the log that needs no other word.
func ended(err error) bool { return err == io.EOF || err == errTorn }

// payload is what is left of an entry that is being read. What is malformed leaves
// it bad, and zeros are read from then on.
type payload struct {
	b   []byte
	bad bool
}

func (p *payload) uint() uint64 {
	v, n := binary.Uvarint(p.b)
	if n <= 0 {
		p.bad, p.b = true, nil
		return 0
	}
	p.b = p.b[n:]
	return v
}

func (p *payload) int() int64 {
	v := p.uint()
	return int64(v>>1) ^ -int64(v&1)
}

func (p *payload) byte() byte {
	if len(p.b) == 0 {
		p.bad = true
		return 0
	}
	c := p.b[0]
	p.b = p.b[1:]
	return c
}

func (p *payload) text() string {
	n := p.uint()
	if n > uint64(len(p.b)) {
		p.bad, p.b = true, nil
		return ""
	}
	s := string(p.b[:n])
	p.b = p.b[n:]
	return s
}

// end reports whether the payload was read to its last byte and was sound.
func (p *payload) end() bool { return !p.bad && len(p.b) == 0 }

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}
