//go:build e2e

package drills

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/flakeward/flakeward/audit"
	"github.com/flakeward/flakeward/audit/evidence"
)

// Host is one daemon, its client, and what outlives both: disk, clock, evidence. Its methods may
// be called from several goroutines. Those that break something note the fault.
type Host struct {
	Name  string // host-1, ...; the daemon's --host too
	Index int    // from 0, as in Run.Hosts and Result.Host

	r         *Run
	dir       string
	daemon    string // containers
	client    string
	socketDir string
	watch     *watch
	cut       *cut

	clock sync.Mutex // of the file, and of what follows
	off   time.Duration
	steps []audit.Step

	mu      sync.Mutex
	flags   []string          // of the daemon's container, further than the drill's
	log     string            // of containers of before
	ends    map[string]func() // of faults that last
	present bool              // the daemon's container has not been removed
}

// Direction is which packets of a container are dropped.
type Direction string

// The directions, as seen from the container.
const (
	Both Direction = "both"
	In   Direction = "in"
	Out  Direction = "out"
)

func (h *Host) String() string { return h.Name }

// begin notes a fault of the host that lasts until finish is called with its sort.
func (h *Host) begin(sort, kind string) {
	end := h.r.fault(kind, h.Name)
	h.mu.Lock()
	before := h.ends[sort]
	h.ends[sort] = end
	h.mu.Unlock()
	if before != nil {
		before()
	}
}

func (h *Host) finish(sorts ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, sort := range sorts {
		if end := h.ends[sort]; end != nil {
			end()
			delete(h.ends, sort)
		}
	}
}

// The sorts of faults that last.
const (
	fallen = "fallen" // killed or stopped
	frozen = "frozen"
)

// SetClock sets the host's clock off from the machine's by offset. The daemon sees it within a few
// milliseconds. Each change notes a fault that is named by the step: clock -1h.
func (h *Host) SetClock(_ context.Context, offset time.Duration) error {
	before, err := h.setClock(offset)
	if err == nil && offset != before {
		h.r.instant("clock "+signed(offset-before), h.Name)
	}
	return err
}

func (h *Host) setClock(offset time.Duration) (before time.Duration, err error) {
	h.clock.Lock()
	defer h.clock.Unlock()
	path := filepath.Join(h.dir, "clock", "offset")
	at := evidence.Now()
	if err := os.WriteFile(path+".next", []byte(offset.String()+"\n"), 0o644); err != nil {
		return 0, fmt.Errorf("the clock of %s cannot be set: %w", h.Name, err)
	}
	if err := os.Rename(path+".next", path); err != nil {
		return 0, fmt.Errorf("the clock of %s cannot be set: %w", h.Name, err)
	}
	before, h.off = h.off, offset
	h.steps = append(h.steps, audit.Step{At: at, Set: evidence.Now(), Offset: int64(offset)})
	return before, nil
}

// Offset is how far the host's clock is set off.
func (h *Host) Offset() time.Duration {
	h.clock.Lock()
	defer h.clock.Unlock()
	return h.off
}

// Oscillate sets the clock by turns to low and high, at each tick of every, for d, and then back to what it
// was: one fault.
func (h *Host) Oscillate(ctx context.Context, low, high, every, d time.Duration) (err error) {
	was := h.Offset()
	defer h.r.fault("oscillation", h.Name)()
	defer func() {
		_, back := h.setClock(was)
		err = errors.Join(err, back)
	}()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	end := time.NewTimer(d)
	defer end.Stop()
	for next, after := low, high; ; next, after = after, next {
		if _, err := h.setClock(next); err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-end.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// signed prints a duration with its sign and without units that are zero: -1h, +150ms.
func signed(d time.Duration) string {
	s := d.String()
	if d >= 0 {
		s = "+" + s
	}
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Kill kills the daemon (SIGKILL) and returns when it is gone. It stays dead until Start.
func (h *Host) Kill(ctx context.Context) error {
	h.begin(fallen, "kill -9")
	h.finish(frozen) // the dead are not paused
	return h.r.project.Engine.Kill(ctx, h.daemon)
}

// Stop stops the daemon cleanly (SIGTERM) and returns when it is gone. It is an error if it did not
// end by itself, with success.
func (h *Host) Stop(ctx context.Context) error {
	const timeout = "15"
	h.begin(fallen, "stop")
	if _, err := h.r.project.Engine.Docker(ctx, "stop", "--time", timeout, h.daemon); err != nil {
		return err
	}
	s, err := h.r.project.Engine.State(ctx, h.daemon)
	if err == nil && s.Status != 0 {
		err = fmt.Errorf("the daemon of %s was told to stop and ended with the status %d (137: it had to be killed after %s s)", h.Name, s.Status, timeout)
	}
	return err
}

// Start starts the daemon after Kill, Stop, or its own end, and returns as soon as it runs. With
// flags the container is recreated, for this start only, which takes longer.
func (h *Host) Start(ctx context.Context, flags ...string) error {
	if h.cut.active() {
		return fmt.Errorf("the daemon of %s cannot be started while it is cut off: its network is new then, so cut or pause the coordinator's members instead", h.Name)
	}
	h.mu.Lock()
	same := h.present && slices.Equal(h.flags, flags)
	h.mu.Unlock()
	if err := h.start(ctx, same, flags); err != nil {
		return err
	}
	h.finish(fallen, frozen)
	return nil
}

func (h *Host) start(ctx context.Context, same bool, flags []string) error {
	engine := h.r.project.Engine
	if same {
		_, err := engine.Docker(ctx, "start", h.daemon)
		return err
	}
	log, err := engine.Logs(ctx, h.daemon)
	if err != nil {
		return err
	}
	// Compose looks at all containers of the project, and fails if one goes meanwhile.
	h.r.remaking.Lock()
	defer h.r.remaking.Unlock()
	if _, err := engine.Docker(ctx, "rm", "--force", h.daemon); err != nil {
		return err
	}
	h.mu.Lock()
	h.flags, h.present = flags, false
	h.log += log
	h.mu.Unlock()
	p := *h.r.project
	p.Env = mergedEnv(p.Env, map[string]string{"DRILL_FLAGS": strings.Join(append(slices.Clone(h.r.options.Daemon), flags...), " ")})
	err = p.Up(ctx, "daemon-"+strconv.Itoa(h.Index+1))
	if err == nil {
		h.mu.Lock()
		h.present = true
		h.mu.Unlock()
	}
	return err
}

// Running reports whether the daemon runs (a paused one does), and its exit status if not.
func (h *Host) Running(ctx context.Context) (bool, int, error) {
	s, err := h.r.project.Engine.State(ctx, h.daemon)
	return s.Running, s.Status, err
}

// Pause freezes the daemon until Resume. Connections to its socket stay, and get nothing.
func (h *Host) Pause(ctx context.Context) error {
	h.begin(frozen, "paused")
	_, err := h.r.project.Engine.Docker(ctx, "pause", h.daemon)
	return err
}

// Resume ends a Pause.
func (h *Host) Resume(ctx context.Context) error {
	if _, err := h.r.project.Engine.Docker(ctx, "unpause", h.daemon); err != nil {
		return err
	}
	h.finish(frozen)
	return nil
}

// silence has nobody ask the daemon for IDs until ask is called. It is no fault.
func (h *Host) silence(ctx context.Context) error {
	_, err := h.r.project.Engine.Docker(ctx, "pause", h.client)
	return err
}

// ask ends a silence.
func (h *Host) ask(ctx context.Context) error {
	_, err := h.r.project.Engine.Docker(ctx, "unpause", h.client)
	return err
}

// ClearClaim deletes a claim from the coordinator, as an operator does with the program of the
// host's daemon, which must run.
func (h *Host) ClearClaim(ctx context.Context, name string) error {
	h.r.instant("claim cleared", h.Name)
	_, err := h.r.project.Engine.Docker(ctx, "exec", h.daemon, "/flakeward", "claims", "clear", "--yes", name)
	return err
}

// Cut drops all packets to, from, or to and from the daemon, silently, until Heal. A second Cut
// replaces the first. A cut does not outlast the daemon: Start refuses until Heal.
func (h *Host) Cut(ctx context.Context, d Direction) error { return h.cut.make(ctx, d) }

// Heal ends a Cut.
func (h *Host) Heal(ctx context.Context) error { return h.cut.heal(ctx) }

// Dropped is how many packets, in and out, were dropped by the cut that the last Heal ended. It is
// an error if that is not known: the daemon did not run when it was healed, or it was cut off
// again.
func (h *Host) Dropped() (in, out uint64, err error) {
	d, known := h.cut.dropped()
	if !known {
		return 0, 0, fmt.Errorf("nobody counted the packets that were dropped of %s: it was not healed, or its daemon did not run then", h.Name)
	}
	return d.in, d.out, nil
}
