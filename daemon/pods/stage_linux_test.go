package pods

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/peercred"
	"github.com/flakeward/flakeward/internal/logtest"
	"github.com/flakeward/flakeward/internal/must"
)

// deadline ends a test that would hang, so that it fails instead.
const deadline = 60 * time.Second

// server accepts nobody: it keeps what is open, and says so.
type server struct {
	mu    sync.Mutex
	open  map[*peercred.Pod]net.Listener
	all   int           // that were ever opened
	stuck chan struct{} // nil: Open does not wait for it
	told  chan struct{} // gets one after each change
}

func (s *server) Open(l net.Listener, pod *peercred.Pod) {
	if s.stuck != nil {
		<-s.stuck
	}
	s.mu.Lock()
	s.open[pod] = l
	s.all++
	s.mu.Unlock()
	s.tell()
}

func (s *server) Shut(pod *peercred.Pod) {
	s.mu.Lock()
	l := s.open[pod]
	delete(s.open, pod)
	s.mu.Unlock()
	_ = l.Close()
	s.tell()
}

func (s *server) tell() {
	select {
	case s.told <- struct{}{}:
	default:
	}
}

// users are those who have a socket, by its directory.
func (s *server) users() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	users := make(map[string]string)
	for pod := range s.open {
		users[pod.Directory] = pod.User
	}
	return users
}

// stage is a directory with its sockets.
type stage struct {
	*Pods
	t      *testing.T
	dir    string
	server *server
	log    *logtest.Buffer
	gone   map[uint32]bool
	stop   func()
}

// play runs sockets in a directory until the test ends.
func play(t *testing.T, dir string, change func(*Pods)) *stage {
	t.Helper()
	s := &stage{t: t, dir: dir, log: &logtest.Buffer{}, gone: make(map[uint32]bool), server: &server{open: make(map[*peercred.Pod]net.Listener), told: make(chan struct{}, 1)}}
	s.Pods = New(Config{Dir: dir, Most: 100, Server: s.server, Gone: func(n uint32) { s.gone[n] = true }, Clock: clockguard.System{}, Log: s.log.At(hclog.Warn)})
	if change != nil {
		change(s.Pods)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); s.Run(ctx) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		<-ended
	})
	t.Cleanup(func() {
		s.stop()
		for _, l := range s.server.open {
			_ = l.Close()
		}
	})
	return s
}

// until waits until those users have sockets, by their directories.
func (s *stage) until(want map[string]string) {
	s.t.Helper()
	over := time.After(deadline)
	for fmt.Sprint(s.server.users()) != fmt.Sprint(want) {
		select {
		case <-s.server.told:
		case <-over:
			s.t.Fatalf("open are %v, want %v; the log:\n%s", s.server.users(), want, s.log)
		}
	}
}

// untilSaid waits until the log has a text.
func (s *stage) untilSaid(text string) {
	s.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for begun := time.Now(); !strings.Contains(s.log.String(), text); <-tick.C {
		if time.Since(begun) > deadline {
			s.t.Fatalf("%q is not in the log:\n%s", text, s.log)
		}
	}
}

// put makes a pod's directory as the one who makes them does: in one step.
func put(t testing.TB, dir, name, user string) {
	t.Helper()
	made := filepath.Join(dir, ".new-"+name)
	must.Do(t, os.MkdirAll(filepath.Join(made, "socket"), 0o755))
	must.Do(t, os.WriteFile(filepath.Join(made, "user"), []byte(user+"\n"), 0o644))
	must.Do(t, os.Rename(made, filepath.Join(dir, name)))
}

func remove(t testing.TB, dir, name string) {
	t.Helper()
	must.Do(t, os.RemoveAll(filepath.Join(dir, name)))
}

func socketOf(dir, name string) string { return filepath.Join(dir, name, "socket", "flakeward.sock") }

func connects(t *testing.T, path string) error {
	t.Helper()
	c, err := net.Dial("unix", path)
	if err == nil {
		_ = c.Close()
	}
	return err
}
