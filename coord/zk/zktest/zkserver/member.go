package zkserver

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

	command *exec.Cmd     // the last one started
	ended   chan struct{} // closed when that is gone; nil before the first
	paused  bool
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
	defer log.Close() // the process has its own copy
	command := exec.Command(java.java, append(append([]string{}, jvm...),
		"-Dlogback.configurationFile="+m.logging(), "-cp", java.classPath,
		"org.apache.zookeeper.server.quorum.QuorumPeerMain", m.config())...)
	command.Dir, command.Stdout, command.Stderr = m.dir, log, log
	if err := process.Spawn(command); err != nil {
		return err
	}
	ended := make(chan struct{})
	m.command, m.ended, m.paused = command, ended, false
	go func() {
		defer close(ended)
		_ = command.Wait() // how it ended is in its log; killed, mostly
	}()
	return nil
}

// running says whether the process is there, be it paused.
func (m *member) running() bool {
	if m.ended == nil {
		return false
	}
	select {
	case <-m.ended:
		return false
	default:
		return true
	}
}

// active says whether the process is there and not paused.
func (m *member) active() bool { return m.running() && !m.paused }

func (m *member) signal(s syscall.Signal) error {
	if !m.running() {
		return fmt.Errorf("it does not run%s", m.said())
	}
	return m.command.Process.Signal(s)
}

func (m *member) pause() error {
	if !m.running() {
		return fmt.Errorf("it does not run%s", m.said())
	}
	err := process.Pause(m.command.Process)
	m.paused = m.paused || err == nil
	return err
}

func (m *member) resume() error {
	err := m.signal(syscall.SIGCONT)
	m.paused = m.paused && err != nil
	return err
}

func (m *member) terminate() error {
	if err := m.signal(syscall.SIGTERM); err != nil {
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
	if err := m.command.Process.Kill(); err != nil && m.running() {
		return err
	}
	return m.wait(context.Background()) // SIGKILL takes no time
}

func (m *member) wait(ctx context.Context) error {
	select {
	case <-m.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w%s", context.Cause(ctx), m.said())
	}
}

// said is the end of the server's log, for errors.
func (m *member) said() string {
	const lines = 30
	log, err := os.ReadFile(m.log())
	if err != nil || len(log) == 0 {
		return "; it has logged nothing"
	}
	all := bytes.Split(bytes.TrimSpace(log), []byte("\n"))
	return fmt.Sprintf("; its log ends with:\n%s", bytes.Join(all[max(0, len(all)-lines):], []byte("\n")))
}
