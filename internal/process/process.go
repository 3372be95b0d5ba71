// Package process runs programs as processes of their own, which end with the one that started
// them: any program, and the daemon, on paths of a test, watched through its log.
package process

import (
	"context"
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
)

// Program is what to start.
type Program struct {
	Command []string       // a path, or a name on the PATH, and arguments
	Env     []string       // more of its environment, as NAME=value
	Out     io.Writer      // gets the standard output; nil: it goes where the standard error does
	Log     io.WriteCloser // gets the standard error, whose end is kept as well; may be nil
	Stderr  *os.File       // is the standard error itself, of which nothing is kept then; may be nil
}

// Process is a program that runs. One goroutine waits for its end.
type Process struct {
	name    string
	command *exec.Cmd
	log     tail
	ended   chan struct{} // closed when the process is gone and its log is read
	err     error         // of the process; valid once ended is closed
}

// Start starts a program. It is killed when ctx ends, or when the process that started it is gone.
// Its environment is this one's, without what would configure a daemon.
func Start(ctx context.Context, p Program) (*Process, error) {
	started := &Process{name: filepath.Base(p.Command[0]), ended: make(chan struct{})}
	c := exec.CommandContext(ctx, p.Command[0], p.Command[1:]...)
	c.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "FLAKEWARD_") }), p.Env...)
	c.Stdout, c.Stderr = p.Out, &started.log
	if p.Log != nil {
		c.Stderr = io.MultiWriter(&started.log, p.Log)
	}
	if p.Stderr != nil {
		c.Stderr = p.Stderr
	}
	if p.Out == nil {
		c.Stdout = c.Stderr
	}
	if err := Spawn(c); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", started.name, err)
	}
	started.command = c
	go func() {
		defer close(started.ended)
		started.err = c.Wait()
		if p.Log != nil {
			_ = p.Log.Close() // a log is for people who look into a failure
		}
	}()
	return started, nil
}

// PID returns the process ID.
func (p *Process) PID() int { return p.command.Process.Pid }

// Ended is closed when the process is gone.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Tail is the end of what the process has logged.
func (p *Process) Tail() string { return p.log.String() }

// ErrEnded is that a process has ended by itself.
var ErrEnded = errors.New("the process has ended by itself")

// Gone is the error of a process that ended by itself, which it waits for: how it ended, and what
// it said last.
func (p *Process) Gone() error {
	<-p.ended
	return fmt.Errorf("%s (process %d): %w: %v\n%s", p.name, p.PID(), ErrEnded, p.command.ProcessState, p.Tail())
}

// Kill kills the process as kill -9 does and waits until it is gone. The error says that it was
// gone before.
func (p *Process) Kill() error { return p.KillThen(func() {}) }

// KillThen is Kill, which runs do in between: once the process runs no more code, and before it is
// waited for. What the process hangs in has to be let go by then.
func (p *Process) KillThen(do func()) error {
	err := p.command.Process.Kill()
	do()
	<-p.ended
	status, ok := p.command.ProcessState.Sys().(syscall.WaitStatus)
	if err != nil || !ok || !status.Signaled() || status.Signal() != syscall.SIGKILL {
		return p.Gone()
	}
	return nil
}

// Pause stops the process where it is, by SIGSTOP, until Resume: it runs nothing and knows of
// nothing. Its connections stay.
func (p *Process) Pause() error {
	if err := Pause(p.command.Process); err != nil {
		return fmt.Errorf("%s cannot be paused: %w\n%s", p.name, err, p.Tail())
	}
	return nil
}

// AwaitPause waits until the process has stopped by itself, as at a step that a drill named.
func (p *Process) AwaitPause(ctx context.Context) error {
	if err := AwaitPause(ctx, p.command.Process); err != nil {
		return fmt.Errorf("%s has not paused: %w\n%s", p.name, err, p.Tail())
	}
	return nil
}

// Resume lets a process that was paused go on.
func (p *Process) Resume() error {
	if err := p.command.Process.Signal(syscall.SIGCONT); err != nil {
		return fmt.Errorf("%s cannot be resumed: %w\n%s", p.name, err, p.Tail())
	}
	return nil
}

// Dump ends a Go program that hangs; its log then has what each goroutine was doing.
func (p *Process) Dump() {
	_ = p.command.Process.Signal(syscall.SIGQUIT)
	<-p.ended
}

// Stop asks the process to stop, by SIGTERM, and waits until it has. It returns an error if it was
// gone before, or ended with another status than 0. One that has not stopped when ctx ends is
// dumped.
func (p *Process) Stop(ctx context.Context) error {
	if err := p.command.Process.Signal(syscall.SIGTERM); errors.Is(err, os.ErrProcessDone) {
		return p.Gone()
	} else if err != nil {
		return fmt.Errorf("%s cannot be told to stop: %w\n%s", p.name, err, p.Tail())
	}
	select {
	case <-p.ended:
	case <-ctx.Done():
		p.Dump()
		return fmt.Errorf("%s does not stop: %w", p.name, context.Cause(ctx))
	}
	if p.err != nil {
		return fmt.Errorf("%s stopped with %w\n%s", p.name, p.err, p.Tail())
	}
	return nil
}

// tail keeps the end of a log.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

const tailBytes = 16 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	if extra := len(t.kept) - tailBytes; extra > 0 {
		t.kept = append(t.kept[:0], t.kept[extra:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.kept))
}
