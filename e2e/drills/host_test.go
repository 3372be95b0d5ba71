//go:build e2e

package drills

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/flakeward/flakeward/audit"
	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/e2e/load"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/info"
	"github.com/flakeward/flakeward/internal/wire"
)

// Host is one daemon, its client, and what outlives both: disk, clock, evidence. Its methods may
// be called from several goroutines. Those that break something note the fault.
type Host struct {
	box           // of the daemon
	Index     int // from 0, as in Run.Hosts
	r         *Run
	dir       string
	client    string // its container
	socketDir string
	watch     *watch
	Replies   replies // all that its clients saw; valid once everything was stopped

	clock sync.Mutex // of the file, and of what follows
	off   time.Duration
	steps []audit.Step
}

// SetClock sets the host's clock off from the machine's by offset. The daemon sees it within a few
// milliseconds.
func (h *Host) SetClock(offset time.Duration) {
	if before := h.setClock(offset); offset != before {
		h.fault(h.Name, "clock "+(offset-before).String())
	}
}

func (h *Host) setClock(offset time.Duration) (before time.Duration) {
	h.clock.Lock()
	defer h.clock.Unlock()
	path := filepath.Join(h.dir, "clock", "offset")
	at := evidence.Now()
	must(os.WriteFile(path+".next", []byte(offset.String()+"\n"), 0o644))
	must(os.Rename(path+".next", path))
	before, h.off = h.off, offset
	h.steps = append(h.steps, audit.Step{At: at, Set: evidence.Now(), Offset: int64(offset)})
	return before
}

// Offset is how far the host's clock is set off.
func (h *Host) Offset() time.Duration {
	h.clock.Lock()
	defer h.clock.Unlock()
	return h.off
}

// Oscillate sets the clock by turns behind and ahead by as much, 20 times a second, for d, and then
// back to what it was: one fault.
func (h *Host) Oscillate(ctx context.Context, by, d time.Duration) {
	h.fault(h.Name, "oscillation")
	defer h.setClock(h.Offset())
	for end := evidence.Now() + evidence.Mono(d); evidence.Now() < end; by = -by {
		h.setClock(-by)
		last(ctx, 50*time.Millisecond)
	}
}

// Stop is that of a box. It is an error if the daemon did not end by itself, with success.
func (h *Host) Stop(ctx context.Context) {
	h.box.Stop(ctx)
	if s := h.state(ctx); s.Status != 0 {
		fail("the daemon of %s was told to stop and ended with the status %d (137: it had to be killed)", h.Name, s.Status)
	}
}

// LoseDisk removes all that the daemon has on its host's disk: its socket, and the lock beside it.
// The daemon must not run.
func (h *Host) LoseDisk(ctx context.Context) {
	if h.state(ctx).Running {
		fail("%s must not run while its disk is lost: kill or stop it first", h.Name)
	}
	h.fault(h.Name, "disk lost")
	must(removeBelow(h.socketDir))
}

// silence has nobody ask the daemon for IDs until ask is called. It is no fault.
func (h *Host) silence(ctx context.Context) {
	mustGet(h.engine.Docker(ctx, "pause", h.client))
}

// ask ends a silence.
func (h *Host) ask(ctx context.Context) {
	mustGet(h.engine.Docker(ctx, "unpause", h.client))
}

// operate runs the program of the host's daemon, which must run, as an operator does, and returns
// what it prints.
func (h *Host) operate(ctx context.Context, args ...string) string {
	return mustGet(h.engine.Docker(ctx, append([]string{"exec", h.container, "/flakeward"}, args...)...))
}

// Info is what the daemon's INFO says.
func (h *Host) Info(ctx context.Context) map[string]string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	// The name of a socket must be short, and the path here is not.
	dir := mustGet(os.Open(h.socketDir))
	defer dir.Close() // it was only opened
	text, err := load.Ask(ctx, "/proc/self/fd/"+strconv.Itoa(int(dir.Fd()))+"/flakeward.sock", (*wire.Reader).Bulk, "INFO")
	if err != nil {
		fail("%s says nothing of itself: %w", h.Name, err)
	}
	return info.Parse(text).Map()
}

// number is an integer of INFO.
func (h *Host) number(ctx context.Context, key string) int64 {
	n, err := strconv.ParseInt(h.Info(ctx)[key], 10, 64)
	if err != nil {
		fail("%s: INFO: %s: %w", h.Name, key, err)
	}
	return n
}

// held is what a daemon says of the worker ID that it issues from.
type held struct {
	worker         int // -1: none
	claimed        bool
	claim, opening string
	cluster        string
	floor, ceiling generator.Tick
	condition      string
}

func (h *Host) holds(ctx context.Context) held {
	says := h.Info(ctx)
	number := func(key string) int64 { return mustGet(strconv.ParseInt(says[key], 10, 64)) }
	return held{
		worker: int(number("worker_id")), claimed: says["claimed"] == "true", claim: says["claim"], opening: says["opening"],
		cluster: says["cluster_id"], floor: generator.Tick(number("floor")), ceiling: generator.Tick(number("ceiling")), condition: says["condition"],
	}
}

// Log is all that the daemon logged so far, over all its starts.
func (h *Host) Log(ctx context.Context) string {
	// For a container that has just ended, the engine was seen to send nothing for as long as it
	// was waited for.
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return mustGet(h.engine.Logs(ctx, h.container))
}

// logs waits until the daemon has logged all of parts, after what was logged before.
func (h *Host) logs(ctx context.Context, before string, parts ...string) {
	until(ctx, func() { says(h.Name, strings.TrimPrefix(h.Log(ctx), before), parts...) }, "the log of %s", h.Name)
}

// AwaitIDs waits until n more IDs than now have arrived at the host's clients.
func (h *Host) AwaitIDs(ctx context.Context, n int) {
	h.vain(h.watch.awaitIDs(ctx, n), "%d more IDs", n)
}

// AwaitAnswer waits for the first reply with IDs that was asked for after now.
func (h *Host) AwaitAnswer(ctx context.Context) evidence.Reply {
	return h.Await(ctx, "IDs", func(r evidence.Reply) bool { return r.Outcome == evidence.Got })
}

// AwaitRefusal waits for a refusal, of a request that was sent after now, that says all of parts.
// On a slow machine one may come before it that is about something else.
func (h *Host) AwaitRefusal(ctx context.Context, parts ...string) evidence.Reply {
	return h.Await(ctx, fmt.Sprintf("a refusal that says %q", parts), func(r evidence.Reply) bool {
		return r.Outcome == evidence.Refused && caught(func() { says(h.Name, r.Text, parts...) }) == nil
	})
}

// Await waits for the first reply that want accepts, to a request that was sent after now.
func (h *Host) Await(ctx context.Context, what string, want func(evidence.Reply) bool) evidence.Reply {
	now := evidence.Now()
	reply, err := h.watch.await(ctx, func(r evidence.Reply) bool { return r.Asked >= now && want(r) })
	h.vain(err, "%s", what)
	return reply
}

// AwaitNone waits until no client of the host has got an ID for d, from now on.
func (h *Host) AwaitNone(ctx context.Context, d time.Duration) {
	h.vain(h.watch.awaitNone(ctx, d), "an end of the IDs for %v", d)
}

// Received is how many IDs the host's clients have got so far.
func (h *Host) Received() int { return h.watch.count() }

func (h *Host) vain(err error, format string, args ...any) {
	if err != nil {
		fail("waited in vain for %s on %s: %w", fmt.Sprintf(format, args...), h.Name, err)
	}
}
