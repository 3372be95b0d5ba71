package zkserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/flakeward/flakeward/internal/port"
	"github.com/flakeward/flakeward/internal/process"
)

const host = "127.0.0.1"

// member is one server: its ports and files, and its process while it runs.
type member struct {
	dir              string // zoo.cfg, the log, and data/ below
	client, secure   port.Port
	quorum, election port.Port

	server *process.Process // the last one started; nil before the first
	paused bool
}

func newMember(dir string, secure bool) (*member, error) {
	m := &member{dir: dir}
	if err := os.MkdirAll(m.data(), 0o700); err != nil {
		return nil, err
	}
	for _, p := range m.ports() {
		if p == &m.secure && !secure {
			continue
		}
		var err error
		if *p, err = port.Reserve(); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *member) ports() []*port.Port {
	return []*port.Port{&m.client, &m.secure, &m.quorum, &m.election}
}

func (m *member) data() string     { return filepath.Join(m.dir, "data") }
func (m *member) versions() string { return filepath.Join(m.data(), "version-2") } // what the server itself writes
func (m *member) config() string   { return filepath.Join(m.dir, "zoo.cfg") }
func (m *member) logging() string  { return filepath.Join(m.dir, "logback.xml") }
func (m *member) log() string      { return filepath.Join(m.dir, "server.log") }

// jvm makes a server that is small and starts fast: it lives for seconds.
var jvm = []string{
	"-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-XX:-UsePerfData",
	"-Djava.net.preferIPv4Stack=true", "-Djava.awt.headless=true", "-Dzookeeper.jmx.log4j.disable=true",
	"-Dorg.slf4j.simpleLogger.showDateTime=true", "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
}

func (m *member) start(java install) error {
	if m.running() {
		return fmt.Errorf("it runs already")
	}
	log, err := os.OpenFile(m.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	command := slices.Concat([]string{java.java}, jvm, []string{
		"-Dlogback.configurationFile=" + m.logging(), "-cp", java.classPath,
		"org.apache.zookeeper.server.quorum.QuorumPeerMain", m.config(),
	})
	server, err := process.Start(context.Background(), process.Program{Command: command, Log: log})
	if err != nil {
		return errors.Join(err, log.Close())
	}
	m.server, m.paused = server, false
	return nil
}

// running says whether the process is there, be it paused.
func (m *member) running() bool {
	if m.server == nil {
		return false
	}
	select {
	case <-m.server.Ended():
		return false
	default:
		return true
	}
}

// active says whether the process is there and not paused.
func (m *member) active() bool { return m.running() && !m.paused }

// there is an error if the process is not.
func (m *member) there() error {
	if !m.running() {
		return fmt.Errorf("it does not run%s", m.said())
	}
	return nil
}

func (m *member) pause() error {
	if err := m.there(); err != nil {
		return err
	}
	err := m.server.Pause()
	m.paused = m.paused || err == nil
	return err
}

func (m *member) resume() error {
	if err := m.there(); err != nil {
		return err
	}
	err := m.server.Resume()
	m.paused = m.paused && err != nil
	return err
}

func (m *member) terminate() error {
	if err := m.there(); err != nil {
		return err
	}
	if err := syscall.Kill(m.server.PID(), syscall.SIGTERM); err != nil {
		return err
	}
	if m.paused { // it takes no other signal until it goes on
		return m.resume()
	}
	return nil
}

// kill ends the process if there is one, and waits for its end.
func (m *member) kill() error {
	if !m.running() {
		return nil
	}
	if err := m.server.Kill(); !errors.Is(err, process.ErrEnded) {
		return err
	}
	return nil
}

func (m *member) wait(ctx context.Context) error {
	select {
	case <-m.server.Ended():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w%s", context.Cause(ctx), m.said())
	}
}

// said is the end of the server's log, for errors.
func (m *member) said() string {
	if m.server == nil || m.server.Tail() == "" {
		return "; it has logged nothing"
	}
	return "; its log ends with:\n" + m.server.Tail()
}
