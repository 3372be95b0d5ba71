// Package server runs the programs that are measured, each as a process of its own
// that never outlives this one, and reads what the kernel counts for it.
package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/flakeward/flakeward/internal/process"
)

// Server is a process. Make it with Start, and end it with Stop or Kill.
type Server struct {
	name    string
	command *exec.Cmd
	log     tail
	ended   chan struct{} // closed when the process is gone
	err     error         // of the process; valid once ended is closed
}

// Program is what to start.
type Program struct {
	Path string // or a name on the PATH
	Args []string
	Out  io.Writer // takes the standard output; nil: it is kept for errors, as the standard error is
}

// Start starts a program. It is killed when ctx ends, or when this process is gone. Its
// environment is this one's, without the variables that would configure a daemon.
func Start(ctx context.Context, p Program) (*Server, error) {
	s := &Server{name: filepath.Base(p.Path), command: exec.CommandContext(ctx, p.Path, p.Args...), ended: make(chan struct{})}
	s.command.Env = environment()
	s.command.Stdout, s.command.Stderr = p.Out, &s.log
	if p.Out == nil {
		s.command.Stdout = &s.log
	}
	s.command.SysProcAttr = process.Orphanless()
	if err := s.command.Start(); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", s.name, err)
	}
	go func() {
		defer close(s.ended)
		s.err = s.command.Wait()
	}()
	return s, nil
}

func environment() []string {
	var kept []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "FLAKEWARD_") {
			kept = append(kept, v)
		}
	}
	return kept
}

// PID is the process's ID.
func (s *Server) PID() int { return s.command.Process.Pid }

// Ended is closed when the process is gone.
func (s *Server) Ended() <-chan struct{} { return s.ended }

// Gone is the error of a process that ended by itself: how it ended, and what it said last.
func (s *Server) Gone() error {
	<-s.ended
	// A state is there for every process that was started; Wait has set it.
	return fmt.Errorf("%s (process %d) has ended by itself: %v\n%s", s.name, s.command.Process.Pid, s.command.ProcessState, s.log.String())
}

// Kill kills the process as kill -9 does and waits until it is gone. It does nothing to
// one that is gone.
func (s *Server) Kill() {
	_ = s.command.Process.Kill() // the only error: it is gone
	<-s.ended
}

// Stop asks the process to stop, by SIGTERM, and waits until it has. It is an error if
// it was gone before, or ended with another status than 0.
func (s *Server) Stop() error {
	if err := s.command.Process.Signal(syscall.SIGTERM); errors.Is(err, os.ErrProcessDone) {
		return s.Gone()
	} else if err != nil {
		return fmt.Errorf("%s cannot be told to stop: %w", s.name, err)
	}
	<-s.ended
	if s.err != nil {
		return fmt.Errorf("%s did not stop in order: %w\n%s", s.name, s.err, s.log.String())
	}
	return nil
}

// tail keeps the end of what a process says.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

const tailBytes = 4 << 10

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
	return string(t.kept)
}
