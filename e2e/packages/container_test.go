//go:build e2e

package packages

import (
	"context"
	"errors"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/flakeward/flakeward/internal/sockettest"
)

// container is a Debian with systemd. Its /run/flakeward is a directory of this host.
type container struct {
	*testing.T
	name, run string
}

func startContainer(t *testing.T) *container {
	t.Helper()
	c := &container{T: t, run: sockettest.Dir(t)}
	// systemd mounts, and the units' filters of system calls are put on top of none.
	out, err := exec.Command("docker", "run", "--detach", "--cgroupns", "private", "--cap-add", "SYS_ADMIN",
		"--security-opt", "seccomp=unconfined", "--security-opt", "apparmor=unconfined",
		"--tmpfs", "/run", "--tmpfs", "/run/lock", "--volume", c.run+":/run/flakeward",
		// A container's own file system may be one that is no place for a directory of the daemon's.
		"--volume", "/var/lib/flakeward", "flakeward-systemd:local").Output()
	if err != nil {
		t.Fatalf("docker run: %v\n%s", err, said(err))
	}
	c.name = strings.TrimSpace(string(out))
	t.Cleanup(func() {
		if t.Failed() {
			log, _ := c.try("journalctl", "--no-pager", "--lines=60")
			t.Logf("the journal:\n%s", log)
		}
		_ = exec.Command("docker", "rm", "--force", "--volumes", c.name).Run()
	})
	c.until("systemd is up", func() bool {
		state, _ := c.try("systemctl", "is-system-running")
		return state == "running" || state == "degraded"
	})
	return c
}

func said(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(exit.Stderr)
	}
	return ""
}

func (c *container) try(args ...string) (string, error) {
	out, err := exec.Command("docker", append([]string{"exec", c.name}, args...)...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// do runs a command in the container and wants it to succeed.
func (c *container) do(args ...string) string {
	c.Helper()
	out, err := c.try(args...)
	if err != nil {
		c.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// property is one of the service's.
func (c *container) property(name string) string {
	c.Helper()
	return c.do("systemctl", "show", "--property", name, "--value", "flakeward.service")
}

func (c *container) until(what string, holds func() bool) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), time.Minute)
	defer cancel()
	for !holds() {
		if ctx.Err() != nil {
			c.Fatalf("not within a minute: %s", what)
		}
		pause(ctx)
	}
}

// pause lets a moment pass between two looks.
func pause(ctx context.Context) {
	wait, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	<-wait.Done()
}

func (c *container) active() bool { return c.property("ActiveState") == "active" }

// dropIn adds a setting to the service; empty: takes it out.
func (c *container) dropIn(setting string) {
	c.Helper()
	const dir = "/etc/systemd/system/flakeward.service.d"
	if setting == "" {
		c.do("rm", "-rf", dir)
	} else {
		c.do("sh", "-c", "mkdir -p "+dir+"; printf '[Service]\\n"+setting+"\\n' >"+dir+"/test.conf")
	}
	c.do("systemctl", "daemon-reload")
}

// load is clients that connect anew for each ID, and one that connects anew only when it has to, until
// stop.
type load struct {
	*testing.T
	path    string
	cancel  context.CancelFunc
	clients sync.WaitGroup
	mu      sync.Mutex
	ids     map[string]bool
	refused []error
	broken  int // connections that ended without an answer
	longest time.Duration
}

func (c *container) load() *load {
	ctx, cancel := context.WithCancel(c.Context())
	l := &load{T: c.T, path: filepath.Join(c.run, "flakeward.sock"), cancel: cancel, ids: map[string]bool{}}
	l.clients.Go(func() { l.stay(ctx) })
	for range 8 {
		l.clients.Go(func() {
			for ctx.Err() == nil {
				l.ask()
				pause(ctx)
			}
		})
	}
	return l
}

func (l *load) ask() {
	begun := time.Now()
	id, err := ask(l.path)
	l.note(id, err, begun)
}

// stay asks on one connection until it ends, and then on another.
func (l *load) stay(ctx context.Context) {
	for ctx.Err() == nil {
		begun := time.Now()
		conn, err := net.DialTimeout("unix", l.path, 20*time.Second)
		if err != nil {
			l.note("", err, begun)
			pause(ctx)
			continue
		}
		for err == nil && ctx.Err() == nil {
			var id string
			begun = time.Now()
			id, err = askOn(conn)
			l.note(id, err, begun)
			pause(ctx)
		}
		_ = conn.Close()
	}
}

func (l *load) note(id string, err error, begun time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.longest = max(l.longest, time.Since(begun))
	switch {
	case errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT):
		l.refused = append(l.refused, err)
	case err != nil:
		l.broken++
	case l.ids[id]:
		l.Errorf("the ID %s came twice", id)
	default:
		l.ids[id] = true
	}
}

// ask asks for one ID on a new connection.
func ask(path string) (string, error) {
	conn, err := net.DialTimeout("unix", path, 20*time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	return askOn(conn)
}

func askOn(conn net.Conn) (string, error) {
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := conn.Write([]byte("NEXT\r\n")); err != nil {
		return "", err
	}
	var reply [256]byte
	n, err := conn.Read(reply[:])
	if err != nil {
		return "", err
	}
	if reply[0] != ':' {
		return "", errors.New(string(reply[:n]))
	}
	return string(reply[1:n]), nil
}

// stop ends the load and wants no connection to have been refused.
func (l *load) stop(what string) {
	l.Helper()
	l.cancel()
	l.clients.Wait()
	l.Logf("%s: %d IDs, %d connections refused, %d ended without an answer, the longest request took %v",
		what, len(l.ids), len(l.refused), l.broken, l.longest.Round(time.Millisecond))
	if len(l.refused) > 0 {
		l.Errorf("%s: %d connections were refused, first by: %v", what, len(l.refused), l.refused[0])
	}
	if len(l.ids) == 0 {
		l.Errorf("%s: no ID came: the case is void", what)
	}
}

// unbroken wants every request of an ended load to have been answered.
func (l *load) unbroken() {
	l.Helper()
	if l.broken > 0 {
		l.Errorf("%d requests had no answer", l.broken)
	}
}

// more waits for some IDs.
func (l *load) more(c *container) {
	c.Helper()
	l.mu.Lock()
	had := len(l.ids)
	l.mu.Unlock()
	c.until("IDs are issued", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.ids) > had+20
	})
}
