package daemon_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/daemon/systemd"
	"github.com/flakeward/flakeward/internal/must"
)

// serviceOf makes a service for each daemon, of one manager that this test is.
func serviceOf(t *testing.T, in string) (manager *net.UnixConn, service func() *systemd.Service) {
	t.Helper()
	path := filepath.Join(in, "notify")
	manager = must.Get(net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"}))(t)
	t.Cleanup(func() { _ = manager.Close() })
	return manager, func() *systemd.Service {
		t.Setenv("NOTIFY_SOCKET", path)
		s := must.Get(systemd.FromEnvironment())(t)
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
}

// A daemon that is asked to has the next one started, which takes over. systemd hears from the old
// one which process that is, before it hears anything from the new one.
func TestRenew(t *testing.T) {
	c := config(dir(t))
	manager, service := serviceOf(t, filepath.Dir(c.Socket.Path))
	c.Service = service()
	started := make(chan struct{})
	c.Successor = func() (<-chan struct{}, error) {
		close(started)
		return nil, nil
	}
	before := start(t, c)
	first := before.next()
	asked := make(chan error, 1)
	go func() { asked <- daemon.Renew(t.Context(), c) }()
	<-started
	if err := daemon.Renew(t.Context(), c); err == nil || !strings.Contains(err.Error(), "started before") {
		t.Errorf("while somebody takes over, another one is asked for: %v", err)
	}
	next := before.config
	next.Takeover, next.Service = true, service()
	after := start(t, next)
	if err := <-asked; err != nil {
		t.Errorf("who asked hears: %v", err)
	}
	must.Do(t, before.End())
	if id := after.next(); id <= first {
		t.Errorf("%d came after %d", id, first)
	}
	main, readyBefore := fmt.Sprintf("MAINPID=%d", os.Getpid()), 0
	message := make([]byte, 4096)
	for known := false; ; {
		n := must.Get(manager.Read(message))(t)
		switch text := string(message[:n]); {
		case text == main:
			known = true
		case text == "READY=1" && known:
			if readyBefore != 1 {
				t.Errorf("systemd heard of %d that were ready before it heard which process goes on, want 1", readyBefore)
			}
			return
		case text == "READY=1":
			readyBefore++
		}
	}
}

// A newcomer that ends or cannot be started leaves the daemon serving, and who asked hears why.
func TestRenewFails(t *testing.T) {
	c := config(dir(t))
	ended, errs := make(chan struct{}), make(chan error, 1)
	close(ended)
	c.Successor = func() (<-chan struct{}, error) { return ended, <-errs }
	d := start(t, c)
	for _, step := range []struct {
		err  error
		want string
	}{{errors.New("there is no program"), "goes on: there is no program"}, {nil, "has ended, and has not taken over"}} {
		errs <- step.err
		if err := daemon.Renew(t.Context(), c); err == nil || !strings.Contains(err.Error(), step.want) {
			t.Errorf("who asked hears %v, want %q", err, step.want)
		}
		d.next()
	}
	takeOver(t, d).next()
}

// A daemon that knows no program says so.
func TestRenewWithoutAProgram(t *testing.T) {
	c := config(dir(t))
	d := start(t, c)
	if err := daemon.Renew(t.Context(), c); err == nil || !strings.Contains(err.Error(), "cannot start") {
		t.Errorf("who asked hears %v", err)
	}
	d.next()
}

// Who asked a daemon that is stopped meanwhile hears that.
func TestRenewOfADaemonThatIsStopped(t *testing.T) {
	c := config(dir(t))
	started := make(chan struct{})
	c.Successor = func() (<-chan struct{}, error) {
		close(started)
		return nil, nil
	}
	d := start(t, c)
	asked := make(chan error, 1)
	go func() { asked <- daemon.Renew(t.Context(), c) }()
	<-started
	d.Stop()
	if err := <-asked; err == nil || !strings.Contains(err.Error(), "the daemon ends") {
		t.Errorf("who asked hears %v", err)
	}
}
