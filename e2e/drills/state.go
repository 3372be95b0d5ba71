//go:build e2e

package drills

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/e2e/load"
	"github.com/flakeward/flakeward/internal/info"
	"github.com/flakeward/flakeward/internal/wire"
)

// infoTimeout is how long a daemon may take to answer INFO.
const infoTimeout = 5 * time.Second

// Info is what the daemon's INFO says. It is an error if the daemon does not answer.
func (h *Host) Info(ctx context.Context) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, infoTimeout)
	defer cancel()
	// The name of a socket must be short, and the path here is not.
	dir, err := os.Open(h.socketDir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", h.Name, err)
	}
	defer dir.Close() // it was only opened
	text, err := load.Ask(ctx, "/proc/self/fd/"+strconv.Itoa(int(dir.Fd()))+"/flakeward.sock", (*wire.Reader).Bulk, "INFO")
	if err != nil {
		return nil, fmt.Errorf("%s says nothing of itself: %w", h.Name, err)
	}
	return info.Parse(text).Map(), nil
}

// Log is all that the daemon logged so far, over all its starts.
func (h *Host) Log(ctx context.Context) (string, error) {
	h.mu.Lock()
	before, present := h.log, h.present
	h.mu.Unlock()
	if !present {
		return before, nil
	}
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	now, err := h.r.project.Engine.Logs(ctx, h.daemon)
	return before + now, err
}

// logTimeout is how long the engine may take for a log: for a container that has just ended, it was seen
// to send nothing for as long as it was waited for.
const logTimeout = 10 * time.Second

// logEvery is how often the log is looked at.
const logEvery = 150 * time.Millisecond

// AwaitLog waits until the daemon has logged a line with substring, since its host was made.
func (h *Host) AwaitLog(ctx context.Context, substring string) error {
	return until(ctx, fmt.Sprintf("%s to log %q", h.Name, substring), logEvery, func() (bool, error) {
		text, err := h.Log(ctx)
		return strings.Contains(text, substring), err
	})
}

// AwaitIDs waits until n more IDs than now have arrived at the host's clients.
func (h *Host) AwaitIDs(ctx context.Context, n int) error {
	return h.vain(h.watch.awaitIDs(ctx, n), "%d more IDs", n)
}

// AwaitAnswer waits for the first reply with IDs that was asked for after now.
func (h *Host) AwaitAnswer(ctx context.Context) (evidence.Reply, error) {
	r, err := h.Await(ctx, func(r evidence.Reply) bool { return r.Outcome == evidence.Got })
	return r, h.vain(err, "IDs")
}

// AwaitRefusal waits for the first refusal of a request that was sent after now.
func (h *Host) AwaitRefusal(ctx context.Context) (evidence.Reply, error) {
	r, err := h.Await(ctx, func(r evidence.Reply) bool { return r.Outcome == evidence.Refused })
	return r, h.vain(err, "a refusal")
}

// Await waits for the first reply that want accepts, to a request that was sent after now.
func (h *Host) Await(ctx context.Context, want func(evidence.Reply) bool) (evidence.Reply, error) {
	now := evidence.Now()
	return h.watch.await(ctx, func(r evidence.Reply) bool { return r.Asked >= now && want(r) })
}

// AwaitNone waits until no client of the host has got an ID for d, from now on.
func (h *Host) AwaitNone(ctx context.Context, d time.Duration) error {
	return h.vain(h.watch.awaitNone(ctx, d), "an end of the IDs for %v", d)
}

// Received is how many IDs the host's clients have got so far.
func (h *Host) Received() int {
	_, n, _, _ := h.watch.seen()
	return n
}

func (h *Host) vain(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("waited in vain for %s on %s: %w", fmt.Sprintf(format, args...), h.Name, err)
}
