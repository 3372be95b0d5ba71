// Package logging is the daemon's log. Nobody who logs waits for whoever reads the log, clients
// cannot flood it, and times have units in JSON as in text.
package logging

import (
	"bytes"
	"io"
	"sync"
	"time"
)

// maxQueued bounds the bytes of the lines that wait to be written, and as many again are being
// written.
const maxQueued = 256 << 10

// Writer passes lines on to an output that may block or fail. Write never waits: a line that has no
// room is dropped and counted. Each call of Write is a line. Writer is made by NewWriter, and its
// methods may be called from any goroutine.
type Writer struct {
	mu      sync.Mutex
	queue   []byte
	next    io.WriteCloser // takes the output's place; nil: it stays
	dropped uint64         // lines
	told    uint64         // of dropped, as caught was told
	caught  func(dropped uint64)
	closed  bool
	journal bool // the output is systemd's journal
	wake    chan struct{}
	ended   chan struct{}
}

// NewWriter begins to write to out. Close ends that.
func NewWriter(out io.Writer) *Writer {
	w := &Writer{journal: isJournal(out), wake: make(chan struct{}, 1), ended: make(chan struct{})}
	go w.run(out)
	return w
}

// Write queues a line. It returns no error and does not wait.
func (w *Writer) Write(line []byte) (int, error) {
	w.mu.Lock()
	if w.closed || len(w.queue)+len(line) > maxQueued {
		w.dropped++
	} else {
		w.queue = append(w.queue, line...)
	}
	w.mu.Unlock()
	w.notify()
	return len(line), nil
}

// Dropped returns how many lines were not written.
func (w *Writer) Dropped() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dropped
}

// OnCaughtUp sets what is called once lines are written again, with the number of those that were
// dropped since the call before. The call comes from the writing goroutine, and may write a line.
func (w *Writer) OnCaughtUp(caught func(dropped uint64)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.caught = caught
}

// Replace has all further lines written to out, and closes what was given to Replace before.
func (w *Writer) Replace(out io.WriteCloser) {
	w.mu.Lock()
	before := w.next
	w.next, w.journal = out, false
	w.mu.Unlock()
	if before != nil {
		_ = before.Close() // nothing was written to it yet
	}
	w.notify()
}

// Close writes what is queued, for at most that long, and reports whether all of it was written or
// dropped for an error by then. What is written to w later is dropped. An output that still blocks
// then keeps its goroutine.
func (w *Writer) Close(atMost time.Duration) bool {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.notify()
	bound := time.NewTimer(atMost)
	defer bound.Stop()
	select {
	case <-w.ended:
		return true
	case <-bound.C:
		return false
	}
}

func (w *Writer) notify() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// run writes until the writer is closed and nothing is queued.
func (w *Writer) run(out io.Writer) {
	defer close(w.ended)
	var batch []byte
	var opened io.Closer // what was given to Replace; nil: nothing yet
	for {
		w.mu.Lock()
		batch, w.queue = w.queue, batch[:0]
		next, closed := w.next, w.closed
		w.next = nil
		w.mu.Unlock()
		if next != nil {
			if opened != nil {
				_ = opened.Close() // each line was written at once
			}
			out, opened = next, next
		}
		switch {
		case len(batch) > 0:
			w.wrote(batch, out)
		case closed:
			if opened != nil {
				_ = opened.Close()
			}
			return
		default:
			<-w.wake
		}
	}
}

// wrote writes a batch, counts what of it was lost, and says what was lost before.
func (w *Writer) wrote(batch []byte, out io.Writer) {
	n, err := out.Write(batch)
	w.mu.Lock()
	if err != nil {
		w.dropped += uint64(bytes.Count(batch[n:], []byte("\n")))
	}
	lost, caught := w.dropped-w.told, w.caught
	if err != nil || caught == nil || w.closed || len(w.queue) > maxQueued/2 {
		lost = 0 // to say it now would be dropped as well
	}
	w.told += lost
	w.mu.Unlock()
	if lost > 0 {
		caught(lost)
	}
}
