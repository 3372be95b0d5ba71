package evidence

import (
	"fmt"
	"os"
	"sync"
)

const eventsMagic = "flakeward events 7\n"

// Events is a daemon's log, being written. Its methods may be called from any goroutine.
type Events struct {
	mu     sync.Mutex
	file   *os.File
	out    encoder
	failed error // what ended the log
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

// Add appends e with one write, so that it is in the file when Add returns and stays
// there however the process ends. A write that fails is final, for it may have left
// half an entry: every later Add returns its error.
func (l *Events) Add(e Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return l.failed
	}
	b, err := l.out.frame(e)
	if err == nil {
		_, err = l.file.Write(b)
	}
	if err != nil {
		l.failed = fmt.Errorf("evidence: %w: the log ends here", err)
	}
	return l.failed
}

// Close closes the file. Every later Add fails.
func (l *Events) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}

// ReadEvents calls f with each event of the log at path, in the order in which they were written. A
// log that is cut off ends there without an error: the write that is missing had not returned. The
// error is a *DamageError, one of reading, or f's own, which ends it.
func ReadEvents(path string, f func(Event) error) error { return read(path, eventsMagic, f) }
