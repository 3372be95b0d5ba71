package daemon_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/flakeward/flakeward/daemon/systemd"
	"github.com/flakeward/flakeward/internal/must"
)

// serviceOf makes a service for each daemon, of one manager that this test is. said waits until the
// manager is told something, and counts what it was told before.
func serviceOf(t *testing.T, in string) (said func(string) map[string]int, service func() *systemd.Service) {
	t.Helper()
	path := filepath.Join(in, "notify")
	manager := must.Get(net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"}))(t)
	t.Cleanup(func() { _ = manager.Close() })
	said = func(want string) map[string]int {
		t.Helper()
		before, message := map[string]int{}, make([]byte, 4096)
		for {
			text, _, _ := strings.Cut(string(message[:must.Get(manager.Read(message))(t)]), "\n")
			if text == want {
				return before
			}
			before[text]++
		}
	}
	return said, func() *systemd.Service {
		t.Setenv("NOTIFY_SOCKET", path)
		s := must.Get(systemd.FromEnvironment())(t)
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
}

// A daemon that is asked to starts the next one, which takes over. systemd hears from the old one
// that it reloads and which process goes on, before it hears anything from the new one.
func TestRenew(t *testing.T) {
	c := config(dir(t))
	said, service := serviceOf(t, filepath.Dir(c.Socket.Path))
	c.Service = service()
	renew, started := make(chan os.Signal), make(chan struct{})
	c.Renew = renew
	c.Successor = func() (*systemd.Started, error) {
		close(started)
		return &systemd.Started{Stop: func() { t.Error("the process that took over is told to end") }}, nil
	}
	before := start(t, c)
	first := before.next()
	said("READY=1")
	renew <- syscall.SIGUSR2
	<-started
	next := before.config
	next.Takeover, next.Service = true, service()
	after := start(t, next)
	must.Do(t, before.End())
	if id := after.next(); id <= first {
		t.Errorf("%d came after %d", id, first)
	}
	said("RELOADING=1")
	if told := said(fmt.Sprintf("MAINPID=%d", os.Getpid())); told["READY=1"] > 0 {
		t.Error("systemd hears that the reload is over before it hears which process goes on")
	}
	said("READY=1")
}

// A newcomer that ends or cannot be started leaves the daemon serving. One that neither ends nor
// takes over does not keep it from ending, and is told to end itself: it would serve after the
// stop.
func TestRenewFails(t *testing.T) {
	c := config(dir(t))
	said, service := serviceOf(t, filepath.Dir(c.Socket.Path))
	c.Service = service()
	ended, errs, renew := make(chan struct{}), make(chan error), make(chan os.Signal)
	stopped := make(chan struct{})
	c.Renew, c.Successor = renew, func() (*systemd.Started, error) {
		return &systemd.Started{Ended: ended, Stop: func() { close(stopped) }}, <-errs
	}
	d := start(t, c)
	said("READY=1")
	for _, step := range []struct {
		err  error
		want string
	}{{errors.New("there is no program"), "there is no program"}, {nil, "the program that was started has ended"}} {
		renew <- syscall.SIGUSR2
		errs <- step.err
		if step.err == nil {
			ended <- struct{}{}
		}
		said("RELOADING=1")
		said("READY=1")
		if !strings.Contains(d.log.String(), `nobody has taken over; going on: reason="`+step.want) {
			t.Errorf("the log has no reason %q:\n%s", step.want, d.log)
		}
		d.next()
	}
	renew <- syscall.SIGUSR2
	errs <- nil
	d.Stop()
	<-stopped
}
