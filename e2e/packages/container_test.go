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
	"github.com/flakeward/flakeward/internal/wire"
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
		// A container's own file system may be one that is no place for a directory of the
		// daemon's.
		"--volume", "/var/lib/flakeward", "flakeward-systemd:local").CombinedOutput()
	if err != nil {
		t.Fatalf("docker run: %v\n%s", err, out)
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
	for end := time.Now().Add(time.Minute); !holds(); pause() {
		if time.Now().After(end) {
			c.Fatalf("not within a minute: %s", what)
		}
	}
}

// pause lets a moment pass between two looks.
func pause() { <-time.After(20 * time.Millisecond) }

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

// load is clients that connect anew for each ID, and one that connects anew only when it has to,
// until stop.
type load struct {
	*testing.T
	path    string
	cancel  context.CancelFunc
	clients sync.WaitGroup
	mu      sync.Mutex
	ids     map[int64]bool
	refused []error
	broken  int // connections that ended without an answer
	longest time.Duration
}

func (c *container) load() *load {
	ctx, cancel := context.WithCancel(c.Context())
	l := &load{T: c.T, path: filepath.Join(c.run, "flakeward.sock"), cancel: cancel, ids: map[int64]bool{}}
	l.clients.Go(func() { l.stay(ctx) })
	for range 8 {
		l.clients.Go(func() {
			for ; ctx.Err() == nil; pause() {
				begun := time.Now()
				id, err := ask(l.path)
				l.note(id, err, begun)
			}
		})
	}
	return l
}

// stay asks on one connection until it ends, and then on another.
func (l *load) stay(ctx context.Context) {
	for ; ctx.Err() == nil; pause() {
		begun := time.Now()
		conn, err := net.DialTimeout("unix", l.path, mostTime)
		for id := int64(0); err == nil && ctx.Err() == nil; pause() {
			begun = time.Now()
			if id, err = askOn(conn); err == nil {
				l.note(id, nil, begun)
			}
		}
		if err != nil {
			l.note(0, err, begun)
		}
		if conn != nil {
			_ = conn.Close()
		}
	}
}

func (l *load) note(id int64, err error, begun time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.longest = max(l.longest, time.Since(begun))
	switch {
	case errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT):
		l.refused = append(l.refused, err)
	case err != nil:
		l.broken++
	case l.ids[id]:
		l.Errorf("the ID %d came twice", id)
	default:
		l.ids[id] = true
	}
}

// mostTime bounds a connection's making and a request.
const mostTime = 20 * time.Second

// ask asks for one ID on a new connection.
func ask(path string) (int64, error) {
	conn, err := net.DialTimeout("unix", path, mostTime)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	return askOn(conn)
}

func askOn(conn net.Conn) (int64, error) {
	_ = conn.SetDeadline(time.Now().Add(mostTime))
	if _, err := conn.Write(wire.AppendCommand(nil, "NEXT")); err != nil {
		return 0, err
	}
	return wire.NewReader(conn).Int()
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
