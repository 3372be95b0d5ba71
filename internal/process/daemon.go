package process

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
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

// Once returns a program that is built when it is first asked for, and what runs a package's tests
// and then removes it.
func Once(build func(ctx context.Context, dir string) (string, error)) (program func() (string, error), with func(tests func() int) int) {
	var dir string
	program = sync.OnceValues(func() (_ string, err error) {
		if dir, err = os.MkdirTemp("", "flakeward-"); err != nil {
			return "", err
		}
		return build(context.Background(), dir)
	})
	return program, func(tests func() int) int {
		defer func() { _ = os.RemoveAll(dir) }() // "": nothing
		return tests()
	}
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
	Binary string
	Socket string
	Clock  *Clock   // of a drill build; nil: the machine's
	Log    string   // file that all daemons' logs are appended to
	Flags  []string // more flags for each daemon; of two coordinators the last counts
	Env    []string // more of its environment, as NAME=value

	created bool // the cluster
}

// Create has the program make the cluster that the flags name, in etcd or ZooKeeper, unless there
// is one. A host's first Start does it.
func (h *Host) Create(ctx context.Context) error {
	args, at := []string{"cluster", "create", "--empty", "--timeout", "1m"}, false
	for i, flag := range h.Flags {
		name, value, joined := strings.Cut(flag, "=")
		if !joined && i+1 < len(h.Flags) {
			value = h.Flags[i+1]
		}
		if name == "--coord" || name == "--layout" || name == "--datacenter" || name == "--window" || strings.HasPrefix(name, "--coord-") {
			args = append(args, name, value)
			at = at || name == "--coord" && !strings.HasPrefix(value, "dir:")
		}
	}
	if !at {
		return nil
	}
	command := exec.CommandContext(ctx, h.Binary, args...)
	command.Env = append(os.Environ(), h.Env...)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot make the cluster: %w\n%s", err, out)
	}
	return nil
}

// NewHost has daemons of the given program keep everything below dir. They have a directory there
// as their coordinator unless the flags name another.
func NewHost(binary, dir string, flags ...string) (*Host, error) {
	h := &Host{
		Binary: binary,
		Socket: filepath.Join(dir, "s.sock"),
		Clock:  &Clock{path: filepath.Join(dir, "clock")},
		Log:    filepath.Join(dir, "daemon.log"),
		Flags:  append([]string{"--coord", "dir:" + filepath.Join(dir, "coord")}, flags...),
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

// Daemon is one daemon's life.
type Daemon struct {
	*Process
	Begun time.Time // before the process was started
	said  *messages
}

// Start starts a daemon on the host, as the function Start does. The first time it makes its
// cluster.
func (h *Host) Start(ctx context.Context) (*Daemon, error) {
	if !h.created {
		if err := h.Create(ctx); err != nil {
			return nil, err
		}
		h.created = true
	}
	kept, err := os.OpenFile(h.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot keep the daemon's log: %w", err)
	}
	d := &Daemon{Begun: time.Now(), said: &messages{File: kept, said: map[string]chan struct{}{}}}
	env := h.Env
	if h.Clock != nil {
		env = append([]string{fault.Clock + "=" + h.Clock.path}, env...)
	}
	args := append([]string{h.Binary, "daemon", "--socket", h.Socket, "--log-json"}, h.Flags...)
	d.Process, err = Start(ctx, Program{Command: args, Env: env, Log: d.said})
	if err != nil {
		_ = kept.Close()
		return nil, err
	}
	return d, nil
}

// Await waits until the daemon has logged message.
func (d *Daemon) Await(ctx context.Context, message string) error {
	c := d.said.await(message)
	select {
	case <-c:
		return nil
	case <-d.ended:
	case <-ctx.Done():
		return fmt.Errorf("the daemon has not said %q: %w\n%s", message, context.Cause(ctx), d.Tail())
	}
	select {
	case <-c:
		return nil
	default:
		return fmt.Errorf("the daemon never said %q: %w", message, d.Gone())
	}
}

// messages is the file of a log, and knows which messages were written to it.
type messages struct {
	*os.File
	mu   sync.Mutex
	line []byte                   // one that has no end yet
	said map[string]chan struct{} // by message: closed once it was logged
}

func (m *messages) Write(b []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.line = append(m.line, b...)
	for {
		line, rest, whole := bytes.Cut(m.line, []byte("\n"))
		if !whole {
			return m.File.Write(b)
		}
		m.line = rest
		var event struct {
			Message string `json:"@message"`
		}
		_ = json.Unmarshal(line, &event) // a panic, say, is no JSON
		select {
		case <-m.awaited(event.Message):
		default:
			close(m.awaited(event.Message))
		}
	}
}

func (m *messages) await(message string) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.awaited(message)
}

// awaited is the channel of a message; m.mu is held.
func (m *messages) awaited(message string) chan struct{} {
	c := m.said[message]
	if c == nil {
		c = make(chan struct{})
		m.said[message] = c
	}
	return c
}
