package evidence

import (
	"bufio"
	"errors"
	"fmt"
	"os"
)

const repliesMagic = "flakeward replies 3\n"

// Replies is a client's log, being written by one goroutine at a time.
type Replies struct {
	file *os.File
	out  *bufio.Writer
	code encoder
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

// Add appends r, which is in the file at the latest after Flush. A write that fails is final.
func (l *Replies) Add(r Reply) error {
	b, err := l.code.frame(r)
	if err == nil {
		_, err = l.out.Write(b)
	}
	return err
}

// Flush writes what is still in memory.
func (l *Replies) Flush() error {
	if err := l.out.Flush(); err != nil {
		return fmt.Errorf("evidence: %w", err)
	}
	return nil
}

// Close flushes and closes the file.
func (l *Replies) Close() error { return errors.Join(l.Flush(), l.file.Close()) }

// ReadReplies calls f with each reply of the log at path, in order. f may keep them. The
// end and the errors are those of ReadEvents.
func ReadReplies(path string, f func(Reply) error) error { return read(path, repliesMagic, f) }

// Tail reads a client's log while it is being written. It is for one goroutine at a time.
type Tail struct {
	*reader[Reply]
	file *os.File
}

// OpenTail opens the log at path at its beginning.
func OpenTail(path string) (*Tail, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("evidence: %w", err)
	}
	return &Tail{newReader[Reply](f, path, repliesMagic), f}, nil
}

// Close closes the file.
func (t *Tail) Close() error { return t.file.Close() }
