package etcdtest

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"github.com/flakeward/flakeward/internal/port"
	"github.com/flakeward/flakeward/internal/process"
)

// member is one server: its ports and files, and its process while it runs. Its methods are safe
// for concurrent use.
type member struct {
	name, dir, log string
	clients, peers port.Port
	args           []string

	mu      sync.Mutex
	command *exec.Cmd
	ended   chan struct{} // closed when the process is gone; nil while stopped
	paused  bool
	failed  bool // it ended by itself
}

// start returns when the process is there; it need not be ready.
func (m *member) start(program string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended != nil {
		return nil
	}
	log, err := os.OpenFile(m.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own copy
	command := exec.Command(program, m.args...)
	command.Stdout, command.Stderr = log, log
	if err := process.Spawn(command); err != nil {
		return fmt.Errorf("etcdtest: %s: %w", m.name, err)
	}
	ended := make(chan struct{})
	m.command, m.ended, m.paused = command, ended, false
	go func() {
		defer close(ended)
		_ = command.Wait() // how it ended is in its log; killed, mostly
	}()
	return nil
}

// stop kills the process and waits until it is gone.
func (m *member) stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended == nil {
		return
	}
	m.failed = m.failed || m.gone()
	_ = m.command.Process.Kill() // it may be gone
	<-m.ended
	m.ended = nil
}

// gone reports whether the process has ended by itself; m.mu is held.
func (m *member) gone() bool {
	select {
	case <-m.ended:
		return true
	default:
		return false
	}
}

// pause stops the process where it is until resume, or until it is stopped.
func (m *member) pause() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended == nil || m.gone() {
		return fmt.Errorf("etcdtest: %s cannot hang, as it does not run", m.name)
	}
	err := process.Pause(m.command.Process)
	m.paused = err == nil
	return err
}

func (m *member) resume() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.paused && m.ended != nil {
		_ = m.command.Process.Signal(syscall.SIGCONT) // it may be gone
	}
	m.paused = false
}

// state says whether the process was started and not stopped, whether it is paused, and whether it
// has ended by itself.
func (m *member) state() (running, paused, failed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ended != nil, m.paused, m.failed || m.ended != nil && m.gone()
}

// tail is the end of the log.
func (m *member) tail() []byte {
	text, _ := os.ReadFile(m.log) // it may have none
	return text[max(0, len(text)-4000):]
}
