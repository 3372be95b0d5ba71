//go:build unix

package systemd

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// manager stands in for systemd.
type manager struct {
	*testing.T
	conn *net.UnixConn
}

func newManager(t *testing.T) *manager {
	t.Helper()
	path := filepath.Join(sockettest.Dir(t), "notify")
	conn := must.Get(net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"}))(t)
	t.Cleanup(func() { conn.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	return &manager{t, conn}
}

// receive returns a message, and the files that came with it.
func (m *manager) receive() (message string, files []*os.File) {
	m.Helper()
	text, oob := make([]byte, 4096), make([]byte, 4096)
	n, noob, _, _, err := m.conn.ReadMsgUnix(text, oob)
	must.Do(m, err)
	controls := must.Get(syscall.ParseSocketControlMessage(oob[:noob]))(m)
	for i := range controls {
		fds := must.Get(syscall.ParseUnixRights(&controls[i]))(m)
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), storeName))
		}
	}
	return string(text[:n]), files
}

func (m *manager) wants(message string) {
	m.Helper()
	if got, _ := m.receive(); got != message {
		m.Errorf("systemd was told %q, want %q", got, message)
	}
}

func service(t *testing.T) *Service {
	t.Helper()
	s := must.Get(FromEnvironment())(t)
	t.Cleanup(func() { s.Close() })
	return s
}

// Without systemd, nothing is asked for, and every call does nothing.
func TestWithoutSystemd(t *testing.T) {
	for _, name := range []string{"NOTIFY_SOCKET", "LISTEN_PID", "LISTEN_FDS", "WATCHDOG_USEC"} {
		t.Setenv(name, "")
	}
	s := service(t)
	if s != nil {
		t.Fatalf("there is a service: %+v", s)
	}
	s.Ready()
	s.Status("x")
	s.Reloading()
	s.Stopping()
	s.Feed()
	s.Successor(1)
	s.HoldUntil(nil)
	if s.FeedEvery() != 0 || s.Stores() {
		t.Error("it wants to be fed, or stores")
	}
	if f, origin, err := s.Listener("/x"); f != nil || origin != None || err != nil {
		t.Errorf("Listener: %v, %v, %v", f, origin, err)
	}
}

func TestMessages(t *testing.T) {
	m := newManager(t)
	t.Setenv("WATCHDOG_USEC", "3000000")
	s := service(t)
	if s.FeedEvery() != time.Second {
		t.Errorf("it is fed each %v, want 1s", s.FeedEvery())
	}
	for _, name := range []string{"NOTIFY_SOCKET", "WATCHDOG_USEC"} {
		if os.Getenv(name) != "" {
			t.Errorf("%s is left for other processes", name)
		}
	}
	s.Status("one\ntwo")
	m.wants("STATUS=one; two")
	s.Ready()
	m.wants("READY=1")
	s.Reloading()
	if got, _ := m.receive(); !strings.HasPrefix(got, "RELOADING=1\n") {
		t.Errorf("a reload is told as %q", got)
	}
	s.Feed()
	m.wants("WATCHDOG=1")
	s.Stopping()
	m.wants("STOPPING=1")
}

// Until systemd knows this process as the main one, nothing is said. Then it hears the last status,
// and that the daemon is ready.
func TestHoldUntil(t *testing.T) {
	m := newManager(t)
	s := service(t)
	over := make(chan struct{})
	s.HoldUntil(over)
	s.Status("one")
	s.Feed()
	s.Ready()
	s.Status("two")
	s.Successor(17)
	m.wants("MAINPID=17") // so nothing was said before
	close(over)
	m.wants("STATUS=two")
	m.wants("READY=1")
	s.Feed()
	m.wants("WATCHDOG=1")
	s.Status("three")
	m.wants("STATUS=three")
	s.Successor(0) // nobody knows which process
	s.Ready()
	m.wants("READY=1")
}

// A watchdog that is another process's, or none's, is not fed.
func TestWatchdogOfAnother(t *testing.T) {
	newManager(t)
	t.Setenv("WATCHDOG_USEC", "3000000")
	t.Setenv("WATCHDOG_PID", "1")
	if s := service(t); s.FeedEvery() != 0 {
		t.Error("it is fed")
	}
}

// The loop must not wait for systemd: a message that finds no room is left out.
func TestFeedNeverWaits(t *testing.T) {
	newManager(t)
	s := service(t)
	for range 100_000 {
		if err := s.send("WATCHDOG=1", nil, 0); errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.ENOBUFS) {
			s.Feed()
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("systemd's queue never was full: the case is void")
}

func listen(t *testing.T, path string) (*net.UnixListener, *os.File) {
	t.Helper()
	l := must.Get(net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"}))(t)
	t.Cleanup(func() { l.Close() })
	f := must.Get(l.File())(t)
	return l, f
}

// named gives a socket the name by which systemd hands it over.
func named(t *testing.T, f *os.File, name string) *os.File {
	t.Helper()
	fd := must.Get(unix.Dup(int(f.Fd())))(t)
	return os.NewFile(uintptr(fd), name)
}

// What is stored comes back as the same socket.
func TestStore(t *testing.T) {
	m := newManager(t)
	t.Setenv("FDSTORE", "1")
	s := service(t)
	if !s.Stores() {
		t.Fatal("it does not store")
	}
	path := filepath.Join(sockettest.Dir(t), "s")
	l, _ := listen(t, path)
	must.Do(t, s.Store(l))
	m.wants("FDSTOREREMOVE=1\nFDNAME=" + storeName)
	message, files := m.receive()
	if message != "FDSTORE=1\nFDNAME="+storeName || len(files) != 1 {
		t.Fatalf("stored as %q with %d files", message, len(files))
	}
	_ = l.Close()
	next := &Service{sockets: files}
	f, origin, err := next.Listener(path)
	if err != nil || origin != Stored || f == nil {
		t.Fatalf("Listener: %v, %v, %v", f, origin, err)
	}
	_ = f.Close()
}

func TestListener(t *testing.T) {
	dir := sockettest.Dir(t)
	path, other := filepath.Join(dir, "s"), filepath.Join(dir, "other")
	_, here := listen(t, path)
	_, there := listen(t, other)
	file := must.Get(os.Open(os.DevNull))(t)
	for _, tt := range []struct {
		name    string
		sockets []*os.File
		want    Origin
		err     string
	}{
		{"a unit's", []*os.File{named(t, here, "flakeward.socket")}, Unit, ""},
		{"a stored one", []*os.File{named(t, here, storeName)}, Stored, ""},
		{"a unit's and a stored one", []*os.File{named(t, here, storeName), named(t, here, "flakeward.socket")}, Unit, ""},
		{"a stored one for another path", []*os.File{named(t, there, storeName)}, None, ""},
		{"a unit's for another path", []*os.File{named(t, there, "x.socket")}, None, "give both the same path"},
		{"two of a unit", []*os.File{named(t, here, "x.socket"), named(t, there, "x.socket")}, None, "give both the same path"},
		{"a file", []*os.File{named(t, file, "x.socket")}, None, "it is no socket"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &Service{sockets: tt.sockets}
			f, origin, err := s.Listener(path)
			if origin != tt.want || (f != nil) != (tt.want != None) {
				t.Errorf("%v, %v; want %v", f, origin, tt.want)
			}
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("the error is %v, want %q", err, tt.err)
			}
			if f != nil {
				_ = f.Close()
			}
		})
	}
}
