package ask

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/flakeward/flakeward/e2e/evidence"
)

const (
	flushEvery  = 40 * time.Millisecond
	arriveEvery = 500 * time.Millisecond
	arrivedName = "arrived"
	queued      = 4096 // entries that wait for the recorder before askers do
)

// recorder writes the log, from one goroutine. It keeps beside it when IDs arrived last.
type recorder struct {
	entries chan evidence.Reply
	written sync.WaitGroup
	err     error // valid once written
}

// startRecorder begins the log at path; fail is called if it cannot be written later.
func startRecorder(path, arrived string, fail context.CancelCauseFunc) (*recorder, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("replies cannot be recorded: %w", err)
	}
	log, err := evidence.CreateReplies(path)
	if err != nil {
		return nil, err
	}
	last, err := os.OpenFile(arrived, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the arrival of IDs cannot be noted: %w", err), log.Close())
	}
	r := &recorder{entries: make(chan evidence.Reply, queued)}
	r.written.Go(func() {
		r.err = r.write(log, last)
		if r.err != nil {
			fail(r.err)
			for range r.entries { // the askers end by themselves
			}
		}
		r.err = errors.Join(r.err, log.Close(), last.Close())
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

func (r *recorder) write(log *evidence.Replies, last *os.File) error {
	flush := time.NewTicker(flushEvery)
	defer flush.Stop()
	var arrived, noted evidence.Mono
	for {
		select {
		case e, ok := <-r.entries:
			if !ok {
				return nil // closing the log flushes it
			}
			if e.Outcome == evidence.Got {
				arrived = e.Answered
			}
			if err := log.Add(e); err != nil {
				return err
			}
		case <-flush.C:
			if err := log.Flush(); err != nil {
				return err
			}
			if arrived >= noted+evidence.Mono(arriveEvery) {
				noted = arrived
				if _, err := last.WriteAt(fmt.Appendf(nil, "%020d\n", noted), 0); err != nil {
					return fmt.Errorf("the arrival of IDs cannot be noted: %w", err)
				}
			}
		}
	}
}

// Healthy returns nil if IDs arrived at a Run that records in out within the given time, half a second more or less.
func Healthy(out string, within time.Duration) error {
	text, err := os.ReadFile(filepath.Join(out, arrivedName))
	if err != nil {
		return fmt.Errorf("it is not known when IDs arrived: %w", err)
	}
	at, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return fmt.Errorf("no IDs have arrived yet (%s: %q)", arrivedName, text)
	}
	if ago := time.Duration(evidence.Now()) - time.Duration(at); ago > within {
		return fmt.Errorf("the last IDs arrived %v ago", ago.Round(time.Millisecond))
	}
	return nil
}
