// Package process runs the daemon as a process of its own, which a drill can kill:
// built with the drill clock, started on paths of the drill, watched through its log.
package process

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/flakeward/flakeward/internal/fault"
)

// Package is the daemon's import path.
const Package = "github.com/flakeward/flakeward"

// Build builds the daemon of the drills into dir and returns the program's path.
func Build(ctx context.Context, dir string) (string, error) {
	return build(ctx, dir, "e2e", "./drilldaemon", shipped+",drill")
}

// BuildNormal builds the daemon as users have it into dir and returns the program's path.
func BuildNormal(ctx context.Context, dir string) (string, error) {
	return build(ctx, dir, ".", ".", shipped)
}

// shipped are the tags of what is released. All that is built with the Makefile's flags shares what
// the compiler made.
const shipped = "urfave_cli_no_docs,grpcnotrace"

// build builds a package of one of the modules, whose directory is below the root of the source. As
// in a release, go.work has no say.
func build(ctx context.Context, dir, module, pkg, tags string) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", Package).Output()
	if err != nil {
		return "", fmt.Errorf("cannot find the source of %s: %w: run this inside of it", Package, err)
	}
	binary := filepath.Join(dir, "flakeward")
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-tags", tags, "-o", binary, pkg)
	command.Dir = filepath.Join(strings.TrimSpace(string(root)), module)
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build %s in %s: %w\n%s", pkg, command.Dir, err, out)
	}
	return binary, nil
}

// Host is what outlives the daemons that run on it.
type Host struct {
	Binary   string
	Socket   string
	StateDir string
	Clock    *Clock
	Log      string   // file that all daemons' logs are appended to
	Flags    []string // more flags for each daemon
	Env      []string // more of its environment, as NAME=value
	// Within is a command that gets the program and its arguments as its last ones and becomes it
	// by exec, such as nsenter; nil: the program is started itself.
	Within []string
}

// NewHost has daemons of the given program keep everything below dir.
func NewHost(binary, dir string, flags ...string) (*Host, error) {
	h := &Host{
		Binary:   binary,
		Socket:   filepath.Join(dir, "s.sock"),
		StateDir: filepath.Join(dir, "state"),
		Clock:    &Clock{path: filepath.Join(dir, "clock")},
		Log:      filepath.Join(dir, "daemon.log"),
		Flags:    flags,
	}
	return h, os.MkdirAll(dir, 0o700)
}

// Clock is how far the daemons' wall clock is off. It is for one goroutine.
type Clock struct {
	path   string
	offset time.Duration
}

// Offset is how far the clock is off the machine's.
func (c *Clock) Offset() time.Duration { return c.offset }

// Set sets the clock off by offset. A daemon that runs sees it within a few milliseconds.
func (c *Clock) Set(offset time.Duration) error {
	next := c.path + ".next"
	if err := os.WriteFile(next, []byte(offset.String()+"\n"), 0o600); err != nil {
		return fmt.Errorf("the drill clock: %w", err)
	}
	if err := os.Rename(next, c.path); err != nil {
		return fmt.Errorf("the drill clock: %w", err)
	}
	c.offset = offset
	return nil
}

// Daemon is one daemon's life. One goroutine follows its log and waits for its end.
type Daemon struct {
	Begun time.Time // before the process was started

	command *exec.Cmd
	ended   chan struct{} // closed when the process is gone and its log is read
	err     error         // of the process; valid once ended is closed

	mu   sync.Mutex
	said map[string]chan struct{} // by message: closed once it was logged
	tail []string                 // the last lines of the log
}

const tailLines = 40

// Start starts a daemon on the host. It is killed when ctx ends, or when the process that started
// it is gone.
func (h *Host) Start(ctx context.Context) (*Daemon, error) {
	args := append([]string{"daemon", "--socket", h.Socket, "--state-dir", h.StateDir, "--coord", "embedded:", "--log-json"}, h.Flags...)
	d := &Daemon{
		ended: make(chan struct{}),
		said:  make(map[string]chan struct{}),
	}
	words := append(append(slices.Clone(h.Within), h.Binary), args...)
	d.command = exec.CommandContext(ctx, words[0], words[1:]...)
	d.command.Env = append(append(environment(), fault.Clock+"="+h.Clock.path), h.Env...)
	d.command.SysProcAttr = Orphanless()
	log, err := d.command.StderrPipe()
	if err != nil {
		return nil, fmt.Errorf("cannot start the daemon: %w", err)
	}
	kept, err := os.OpenFile(h.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot keep the daemon's log: %w", err)
	}
	d.Begun = time.Now()
	if err := d.command.Start(); err != nil {
		_ = kept.Close()
		return nil, fmt.Errorf("cannot start the daemon: %w", err)
	}
	go func() {
		defer close(d.ended)
		defer kept.Close() // the log is for people who look into a failure
		d.follow(io.TeeReader(log, kept))
		d.err = d.command.Wait()
	}()
	return d, nil
}

// environment is this process's without what would configure a daemon.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "FLAKEWARD_") })
}

// follow reads the log to its end.
func (d *Daemon) follow(log io.Reader) {
	in := bufio.NewReader(log)
	for {
		line, err := in.ReadString('\n')
		if line = strings.TrimSpace(line); line != "" {
			var event struct {
				Message string `json:"@message"`
			}
			_ = json.Unmarshal([]byte(line), &event) // a panic, say, is no JSON: it is kept for the report
			d.mu.Lock()
			d.tail = append(d.tail, line)
			if len(d.tail) > tailLines {
				d.tail = d.tail[1:]
			}
			if c := d.awaited(event.Message); !isClosed(c) {
				close(c)
			}
			d.mu.Unlock()
		}
		if err != nil {
			return
		}
	}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// awaited is the channel of a message; d.mu is held.
func (d *Daemon) awaited(message string) chan struct{} {
	c := d.said[message]
	if c == nil {
		c = make(chan struct{})
		d.said[message] = c
	}
	return c
}

// ErrEnded is what Await returns when the daemon ended instead.
var ErrEnded = errors.New("the daemon has ended")

// Await waits until the daemon has logged message.
func (d *Daemon) Await(ctx context.Context, message string) error {
	d.mu.Lock()
	c := d.awaited(message)
	d.mu.Unlock()
	select {
	case <-c:
		return nil
	case <-d.ended:
		if isClosed(c) {
			return nil
		}
		return fmt.Errorf("%w before it said %q: %v\n%s", ErrEnded, message, d.err, d.Tail())
	case <-ctx.Done():
		return fmt.Errorf("the daemon has not said %q: %w\n%s", message, context.Cause(ctx), d.Tail())
	}
}

// Ended is closed when the daemon is gone.
func (d *Daemon) Ended() <-chan struct{} { return d.ended }

// Tail is the end of the daemon's log.
func (d *Daemon) Tail() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.tail, "\n")
}

// PID returns the process ID.
func (d *Daemon) PID() int { return d.command.Process.Pid }

// Kill kills the daemon as kill -9 does and waits until it is gone. The error says that it was gone
// before.
func (d *Daemon) Kill() error { return d.KillThen(func() {}) }

// KillThen is Kill, which runs do in between: once the process runs no more code, and before it is
// waited for. What the process hangs in has to be let go by then.
func (d *Daemon) KillThen(do func()) error {
	err := d.command.Process.Kill()
	do()
	if err != nil {
		<-d.ended
		return fmt.Errorf("%w by itself: %v\n%s", ErrEnded, d.err, d.Tail())
	}
	<-d.ended
	if status, ok := d.command.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || status.Signal() != syscall.SIGKILL {
		return fmt.Errorf("%w by itself: %v\n%s", ErrEnded, d.err, d.Tail())
	}
	return nil
}

// Pause stops the process where it is, by SIGSTOP, until Resume: it runs nothing and knows of
// nothing. Its connections stay.
func (d *Daemon) Pause() error {
	if err := Pause(d.command.Process); err != nil {
		return fmt.Errorf("the daemon cannot be paused: %w\n%s", err, d.Tail())
	}
	return nil
}

// AwaitPause waits until the daemon has stopped by itself, as at a step that a drill named.
func (d *Daemon) AwaitPause(ctx context.Context) error {
	if err := AwaitPause(ctx, d.command.Process); err != nil {
		return fmt.Errorf("the daemon has not paused: %w\n%s", err, d.Tail())
	}
	return nil
}

// Resume lets a process that was paused go on.
func (d *Daemon) Resume() error {
	if err := d.command.Process.Signal(syscall.SIGCONT); err != nil {
		return fmt.Errorf("the daemon cannot be resumed: %w\n%s", err, d.Tail())
	}
	return nil
}

// Dump ends a daemon that hangs; its log then has what each goroutine was doing.
func (d *Daemon) Dump() {
	_ = d.command.Process.Signal(syscall.SIGQUIT)
	<-d.ended
}

// Stop asks the daemon to stop, by SIGTERM, and waits until it has. It returns an error unless it
// ended with status 0. One that has not stopped when ctx ends is dumped.
func (d *Daemon) Stop(ctx context.Context) error {
	if err := d.command.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("the daemon cannot be told to stop: %w\n%s", err, d.Tail())
	}
	select {
	case <-d.ended:
	case <-ctx.Done():
		d.Dump()
		return fmt.Errorf("the daemon does not stop: %w", context.Cause(ctx))
	}
	if d.err != nil {
		return fmt.Errorf("the daemon stopped with %w\n%s", d.err, d.Tail())
	}
	return nil
}
