package evidence

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
)

const repliesMagic = "flakeward replies 2\n"

// Replies is a client's log, being written by one goroutine at a time.
type Replies struct {
	file   *os.File
	out    *bufio.Writer
	coding replyCoding
	buf    []byte
}

// replyCoding is what entries are differences from.
type replyCoding struct {
	connection uint32
	asked      Mono
	next       int64 // the ID after the last run
	slab       []Run // where the runs of entries that are read are put
}

// CreateReplies makes the log at path, which must not exist: evidence is not written
// over. Its mode is 0644.
func CreateReplies(path string) (*Replies, error) {
	f, err := create(path, repliesMagic)
	if err != nil {
		return nil, err
	}
	return &Replies{file: f, out: bufio.NewWriterSize(f, 1<<16)}, nil
}

// Add appends r, which is in the file at the latest after Flush. A write that fails is
// final.
func (l *Replies) Add(r Reply) error {
	l.buf = l.coding.frame(l.buf, r)
	if _, err := l.out.Write(l.buf); err != nil {
		return fmt.Errorf("evidence: %w", err)
	}
	return nil
}

// Flush writes what is still in memory.
func (l *Replies) Flush() error {
	if err := l.out.Flush(); err != nil {
		return fmt.Errorf("evidence: %w", err)
	}
	return nil
}

// Close flushes and closes the file.
func (l *Replies) Close() error {
	err := l.Flush()
	if e := l.file.Close(); err == nil {
		err = e
	}
	return err
}

// frame returns r's frame, in buf's room.
func (c *replyCoding) frame(buf []byte, r Reply) []byte {
	return seal(c.append(append(buf[:0], make([]byte, headBytes)...), r))
}

func (c *replyCoding) append(b []byte, r Reply) []byte {
	b = append(b, byte(r.Asking)|byte(r.Outcome)<<4)
	b = binary.AppendVarint(b, int64(r.Connection)-int64(c.connection))
	b = binary.AppendVarint(b, int64(r.Asked-c.asked))
	b = binary.AppendVarint(b, int64(r.Answered-r.Asked))
	c.connection, c.asked = r.Connection, r.Asked
	b = binary.AppendUvarint(b, uint64(len(r.IDs)))
	for _, run := range r.IDs {
		b = run.append(b, &c.next)
	}
	return appendText(b, r.Text)
}

func (c *replyCoding) read(b []byte) (Reply, bool) {
	p := payload{b: b}
	kinds := p.byte()
	r := Reply{Asking: Asking(kinds & 0xf), Outcome: Outcome(kinds >> 4)}
	connection := int64(c.connection) + p.int()
	r.Connection = uint32(connection)
	r.Asked = c.asked + Mono(p.int())
	r.Answered = r.Asked + Mono(p.int())
	c.connection, c.asked = r.Connection, r.Asked
	n := p.uint()
	if int64(r.Connection) != connection || n > uint64(len(p.b)) {
		return Reply{}, false
	}
	r.IDs = c.runs(int(n))
	for i := range r.IDs {
		r.IDs[i] = p.run(&c.next)
	}
	r.Text = p.text()
	return r, p.end()
}

// runs returns n runs to fill: nil if n is 0. Logs hold millions of entries of one run each.
func (c *replyCoding) runs(n int) []Run {
	if n == 0 {
		return nil
	}
	if n > len(c.slab) {
		c.slab = make([]Run, max(n, 1024))
	}
	runs := c.slab[:n:n]
	c.slab = c.slab[n:]
	return runs
}

// ReadReplies calls f with each reply of the log at path, in order. f may keep them. The
// end and the errors are those of ReadEvents.
func ReadReplies(path string, f func(Reply) error) error {
	t, err := OpenTail(path)
	if err != nil {
		return err
	}
	defer t.Close()
	return t.each(f)
}

func (t *Tail) each(f func(Reply) error) error {
	for {
		r, ok, err := t.Next()
		if err != nil || !ok {
			return err
		}
		if err := f(r); err != nil {
			return err
		}
	}
}

// Tail reads a client's log while it is being written. It is for one goroutine at a time.
type Tail struct {
	in     frames
	file   *os.File // nil in tests
	coding replyCoding
}

// OpenTail opens the log at path at its beginning.
func OpenTail(path string) (*Tail, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("evidence: %w", err)
	}
	return &Tail{in: frames{r: f, path: path, magic: repliesMagic}, file: f}, nil
}

// Next returns the next reply, or false if no whole one has been appended yet: ask
// again later. It does not wait. The error is a *DamageError or one of reading, and final.
func (t *Tail) Next() (Reply, bool, error) {
	at := t.in.offset
	b, err := t.in.next()
	if ended(err) {
		return Reply{}, false, nil
	}
	if err != nil {
		return Reply{}, false, err
	}
	r, ok := t.coding.read(b)
	if !ok {
		return Reply{}, false, &DamageError{Path: t.in.path, Offset: at, Reason: "it is no reply"}
	}
	return r, true, nil
}

// Close closes the file.
func (t *Tail) Close() error { return t.file.Close() }
