//go:build e2e

package drills

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
)

// watch follows what a host's client records, while it records it. One goroutine reads; all methods
// may be called from any.
type watch struct {
	dir  string
	stop chan struct{}
	done chan struct{}

	mu       sync.Mutex
	replies  []evidence.Reply // in the order of the logs
	received int              // IDs
	newest   evidence.Mono    // when the latest IDs arrived
	err      error
	more     chan struct{} // closed at the next change
}

// watchEvery is how often the log is looked at. watchLag bounds how old what is seen may be: a
// client keeps what it records in memory for a moment.
const (
	watchEvery = 10 * time.Millisecond
	watchLag   = 150 * time.Millisecond
)

func startWatch(dir string) *watch {
	w := &watch{dir: dir, stop: make(chan struct{}), done: make(chan struct{}), more: make(chan struct{})}
	go w.follow()
	return w
}

// end reads what is left, when the client is gone, and ends the goroutine.
func (w *watch) end() ([]evidence.Reply, error) {
	close(w.stop)
	<-w.done
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.replies, w.err
}

func (w *watch) follow() {
	defer close(w.done)
	tails := map[string]*evidence.Tail{}
	defer func() {
		for _, t := range tails {
			_ = t.Close()
		}
	}()
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for ending := false; ; {
		if err := w.read(tails); err != nil {
			w.mu.Lock()
			w.err = err
			close(w.more)
			w.more = make(chan struct{})
			w.mu.Unlock()
			return
		}
		if ending {
			return
		}
		select {
		case <-ticker.C:
		case <-w.stop:
			ending = true
		}
	}
}

func (w *watch) read(tails map[string]*evidence.Tail) error {
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		return fmt.Errorf("what the clients record cannot be read: %w", err)
	}
	for _, e := range entries {
		name := e.Name()
		if !strings.HasSuffix(name, ".replies") || tails[name] != nil {
			continue
		}
		tail, err := evidence.OpenTail(filepath.Join(w.dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		tails[name] = tail
	}
	var fresh []evidence.Reply
	for _, t := range tails {
		for {
			r, ok, err := t.Next()
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			fresh = append(fresh, r)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range fresh {
		if n := idsIn(r); n > 0 {
			w.received += n
			w.newest = max(w.newest, r.Answered)
		}
	}
	w.replies = append(w.replies, fresh...)
	close(w.more)
	w.more = make(chan struct{})
	return nil
}

// idsIn is how many IDs arrived with a reply.
func idsIn(r evidence.Reply) int {
	if r.Outcome != evidence.Got {
		return 0
	}
	n := 0
	for _, run := range r.IDs {
		n += run.N
	}
	return n
}

// count is how many IDs have arrived so far.
func (w *watch) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.received
}

// wait waits until done, which is called with w.mu held whenever there is more.
func (w *watch) wait(ctx context.Context, done func() bool) error {
	for {
		w.mu.Lock()
		over, more, err := done(), w.more, w.err
		w.mu.Unlock()
		if over || err != nil {
			return err
		}
		select {
		case <-more:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// await returns the first reply from now on that want accepts.
func (w *watch) await(ctx context.Context, want func(evidence.Reply) bool) (found evidence.Reply, err error) {
	w.mu.Lock()
	at := len(w.replies)
	w.mu.Unlock()
	return found, w.wait(ctx, func() bool {
		for ; at < len(w.replies); at++ {
			if found = w.replies[at]; want(found) {
				return true
			}
		}
		return false
	})
}

// awaitIDs waits until n more IDs have arrived.
func (w *watch) awaitIDs(ctx context.Context, n int) error {
	enough := w.count() + n
	return w.wait(ctx, func() bool { return w.received >= enough })
}

// awaitNone waits until no IDs have arrived for d.
func (w *watch) awaitNone(ctx context.Context, d time.Duration) error {
	for begun := evidence.Now(); ; {
		w.mu.Lock()
		newest, err := max(w.newest, begun), w.err
		w.mu.Unlock()
		if err != nil {
			return err
		}
		rest := d + watchLag - time.Duration(evidence.Now()-newest)
		if rest <= 0 {
			return nil
		}
		if err := caught(func() { last(ctx, rest) }); err != nil {
			return err
		}
	}
}
