package ask

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
)

const (
	flushEvery = 40 * time.Millisecond
	queued     = 4096 // entries that wait for the recorder before askers do
)

// recorder writes the log, from one goroutine.
type recorder struct {
	entries chan evidence.Reply
	written sync.WaitGroup
	err     error // valid once written
}

// startRecorder begins the log at path; fail is called if it cannot be written later.
func startRecorder(path string, fail context.CancelCauseFunc) (*recorder, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("replies cannot be recorded: %w", err)
	}
	log, err := evidence.CreateReplies(path)
	if err != nil {
		return nil, err
	}
	r := &recorder{entries: make(chan evidence.Reply, queued)}
	r.written.Go(func() {
		r.err = r.write(log)
		if r.err != nil {
			fail(r.err)
			for range r.entries { // the askers end by themselves
			}
		}
		r.err = errors.Join(r.err, log.Close())
	})
	return r, nil
}

func (r *recorder) add(e evidence.Reply) { r.entries <- e }

// close writes what was added; nothing is added after it.
func (r *recorder) close() error {
	close(r.entries)
	r.written.Wait()
	return r.err
}

func (r *recorder) write(log *evidence.Replies) error {
	flush := time.NewTicker(flushEvery)
	defer flush.Stop()
	for {
		select {
		case e, ok := <-r.entries:
			if !ok {
				return nil // closing the log flushes it
			}
			if err := log.Add(e); err != nil {
				return err
			}
		case <-flush.C:
			if err := log.Flush(); err != nil {
				return err
			}
		}
	}
}
