package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/flakeward/flakeward/internal/port"
	"github.com/flakeward/flakeward/internal/process"
)

// member is one server: its ports and files, and its process while it runs. Its methods are safe
// for concurrent use.
type member struct {
	name, dir, log string
	clients, peers port.Port
	args           []string

	mu     sync.Mutex
	server *process.Process // nil while stopped
	paused bool
	failed bool // it ended by itself
}

// start returns when the process is there; it need not be ready.
func (m *member) start(program string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.server != nil {
		return nil
	}
	log, err := os.OpenFile(m.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	server, err := process.Start(context.Background(), process.Program{Command: append([]string{program}, m.args...), Log: log})
	if err != nil {
		return errors.Join(err, log.Close())
	}
	m.server, m.paused = server, false
	return nil
}

// stop kills the process and waits until it is gone.
func (m *member) stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.server != nil {
		m.failed = m.server.Kill() != nil || m.failed
		m.server = nil
	}
}

// pause stops the process where it is until resume, or until it is stopped.
func (m *member) pause() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.server == nil {
		return fmt.Errorf("etcdtest: %s cannot hang, as it does not run", m.name)
	}
	err := m.server.Pause()
	m.paused = err == nil
	return err
}

func (m *member) resume() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.paused && m.server != nil {
		_ = m.server.Resume() // it may be gone
	}
	m.paused = false
}

// state says whether the process was started and not stopped, whether it is paused, and whether it
// has ended by itself.
func (m *member) state() (running, paused, failed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.server == nil {
		return false, m.paused, m.failed
	}
	select {
	case <-m.server.Ended():
		return true, m.paused, true
	default:
		return true, m.paused, m.failed
	}
}

// tail is the end of the log.
func (m *member) tail() []byte {
	text, _ := os.ReadFile(m.log) // it may have none
	return text[max(0, len(text)-4000):]
}
