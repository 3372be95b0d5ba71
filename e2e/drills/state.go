//go:build e2e

package drills

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/daemon/place"
	"github.com/flakeward/flakeward/e2e/load"
	"github.com/flakeward/flakeward/e2e/sidecar/files"
	"github.com/flakeward/flakeward/internal/info"
	"github.com/flakeward/flakeward/internal/wire"
)

// smallMount is where a client has the small state directory of its host: so it stays when the
// daemon is gone.
const smallMount = "/state"

var errSmall = errors.New("a small state directory is not copied: leave Options.SmallState out")

// exec runs the sidecar's program in the client's container, as the daemon's user, and returns what
// it prints.
func (h *Host) exec(ctx context.Context, args ...string) (string, error) {
	return h.r.project.Engine.Docker(ctx, append([]string{"exec", h.client, "/sidecar"}, args...)...)
}

// FillState fills the disk of the state directory (Options.SmallState) to the last byte, until
// FreeState.
func (h *Host) FillState(ctx context.Context) error {
	if !h.r.options.SmallState {
		return fmt.Errorf("the disk of %s is the machine's: set Options.SmallState", h.Name)
	}
	h.begin(full, "disk full")
	_, err := h.exec(ctx, "fill", smallMount)
	return err
}

// FreeState ends a FillState.
func (h *Host) FreeState(ctx context.Context) error {
	if _, err := h.exec(ctx, "free", smallMount); err != nil {
		return err
	}
	h.finish(full)
	return nil
}

// LoseState empties the state directory, or, of a small one, loses the journal. The daemon must not
// run.
func (h *Host) LoseState(ctx context.Context) error {
	if err := h.dead(ctx, "its state is lost"); err != nil {
		return err
	}
	h.r.instant("state lost", h.Name)
	if h.stateDir == "" {
		_, err := h.exec(ctx, "remove", smallMount+"/journal")
		return err
	}
	return files.Remove(h.stateDir)
}

// Copy is a copy of a state directory.
type Copy struct{ path string }

// SaveState copies the state directory as it is now; the daemon may run.
func (h *Host) SaveState() (Copy, error) {
	if h.stateDir == "" {
		return Copy{}, errSmall
	}
	path, err := os.MkdirTemp(h.dir, "copy-")
	if err != nil {
		return Copy{}, fmt.Errorf("the state of %s cannot be copied: %w", h.Name, err)
	}
	return Copy{path}, files.Copy(h.stateDir, path)
}

// PutBack replaces the state directory by a copy, of this host's or of another's. The daemon must
// not run.
func (h *Host) PutBack(ctx context.Context, c Copy) error {
	if h.stateDir == "" {
		return errSmall
	}
	if err := h.dead(ctx, "an old state is put back"); err != nil {
		return err
	}
	h.r.instant("old state", h.Name)
	if err := files.Remove(h.stateDir); err != nil {
		return err
	}
	return files.Copy(c.path, h.stateDir)
}

// dead makes sure that the daemon does not run.
func (h *Host) dead(ctx context.Context, what string) error {
	running, _, err := h.Running(ctx)
	if err == nil && running {
		err = fmt.Errorf("%s must not run while %s: kill or stop it first", h.Name, what)
	}
	return err
}

// Journal reads the journal of the host, whether the daemon runs or not. The error is journal.ErrNone
// if there is none.
func (h *Host) Journal(ctx context.Context) (journal.Contents, error) {
	// The directory itself is the daemon's, with a lock on it: a copy is read.
	dir, err := os.MkdirTemp("", "flakeward-journal-")
	if err != nil {
		return journal.Contents{}, err
	}
	defer os.RemoveAll(dir) // it is the system's to clean up
	const name = "journal"
	var data []byte
	if h.stateDir != "" {
		data, err = os.ReadFile(filepath.Join(h.stateDir, name))
		if errors.Is(err, fs.ErrNotExist) {
			return journal.Contents{}, journal.ErrNone
		}
	} else {
		var text string
		text, err = h.exec(ctx, "cat", smallMount+"/"+name)
		data = []byte(text)
	}
	if err != nil {
		return journal.Contents{}, fmt.Errorf("the journal of %s: %w", h.Name, err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
		return journal.Contents{}, err
	}
	d, err := journal.OpenDir(dir, place.Host{})
	if err != nil {
		return journal.Contents{}, err
	}
	defer d.Close()
	return d.Read()
}

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
	now, err := h.r.project.Engine.Logs(ctx, h.daemon)
	return before + now, err
}

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
