package evidence

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/flakeward/flakeward/generator"
)

const eventsMagic = "flakeward events 6\n"

// Events is a daemon's log, being written. Its methods may be called from any goroutine.
type Events struct {
	mu     sync.Mutex
	file   *os.File
	coding eventCoding
	buf    []byte
	failed error // what ended the log
}

// eventCoding is what entries are differences from.
type eventCoding struct {
	at   Mono
	next int64 // the ID after the last run
}

// OpenEvents makes the log at path, which must not exist: a log is of one start of a
// daemon. Its mode is 0644.
func OpenEvents(path string) (*Events, error) {
	f, err := create(path, eventsMagic)
	if err != nil {
		return nil, err
	}
	return &Events{file: f}, nil
}

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

// Add appends e with one write, so that it is in the file when Add returns and stays
// there however the process ends. A write that fails is final, for it may have left
// half an entry: every later Add returns its error.
func (l *Events) Add(e Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return l.failed
	}
	coding := l.coding
	l.buf = coding.frame(l.buf, e)
	if _, err := l.file.Write(l.buf); err != nil {
		l.failed = fmt.Errorf("evidence: %w: the log ends here", err)
		return l.failed
	}
	l.coding = coding
	return nil
}

// Close closes the file. Every later Add fails.
func (l *Events) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}

// frame returns e's frame, in buf's room.
func (c *eventCoding) frame(buf []byte, e Event) []byte {
	return seal(c.append(append(buf[:0], make([]byte, headBytes)...), e))
}

// append writes the fields that e's kind names.
func (c *eventCoding) append(b []byte, e Event) []byte {
	b = binary.AppendVarint(append(b, byte(e.Kind)), int64(e.At-c.at))
	c.at = e.At
	switch e.Kind {
	case Began:
		b = appendText(b, e.Host)
		b = appendText(b, e.Incarnation)
		return appendText(b, e.Layout)
	case Issued:
		return e.Run.append(b, &c.next)
	}
	b = binary.AppendUvarint(b, e.Call)
	b = binary.AppendUvarint(b, uint64(e.Worker))
	b = appendText(b, e.Opening)
	if e.Kind == Failed {
		return append(b, byte(e.Ending))
	}
	for _, t := range e.ticks() {
		b = binary.AppendVarint(b, int64(*t))
	}
	return b
}

// ticks are those that the kind names.
func (e *Event) ticks() []*generator.Tick {
	switch e.Kind {
	case Claimed:
		return []*generator.Tick{&e.Floor}
	case Extending:
		return []*generator.Tick{&e.Ceiling, &e.Issued}
	case Extended:
		return []*generator.Tick{&e.Ceiling}
	case Releasing, Released:
		return []*generator.Tick{&e.Last}
	default:
		return nil
	}
}

// read reads what append wrote; false if it is malformed.
func (c *eventCoding) read(b []byte) (Event, bool) {
	p := payload{b: b}
	e := Event{Kind: Kind(p.byte())}
	c.at += Mono(p.int())
	e.At = c.at
	switch e.Kind {
	case Began:
		e.Host, e.Incarnation, e.Layout = p.text(), p.text(), p.text()
	case Issued:
		e.Run = p.run(&c.next)
	default:
		e.Call, e.Worker, e.Opening = p.uint(), int(p.uint()), p.text()
		if e.Kind == Failed {
			e.Ending = Ending(p.byte())
		}
		for _, t := range e.ticks() {
			*t = generator.Tick(p.int())
		}
	}
	return e, p.end()
}

// ReadEvents calls f with each event of the log at path, in the order in which they
// were written. A log that is cut off ends there without an error: the write that
// is missing had not returned. The error is a *DamageError, one of reading, or f's own, which
// ends it.
func ReadEvents(path string, f func(Event) error) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("evidence: %w", err)
	}
	defer file.Close()
	return readEvents(&frames{r: file, path: path, magic: eventsMagic}, f)
}

func readEvents(in *frames, f func(Event) error) error {
	var c eventCoding
	for {
		at := in.offset
		b, err := in.next()
		if ended(err) {
			return nil
		}
		if err != nil {
			return err
		}
		e, ok := c.read(b)
		if !ok {
			return &DamageError{Path: in.path, Offset: at, Reason: "it is no event"}
		}
		if err := f(e); err != nil {
			return err
		}
	}
}
