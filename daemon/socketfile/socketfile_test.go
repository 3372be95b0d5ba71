//go:build unix

package socketfile_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/daemon/socketfile"
	"github.com/flakeward/flakeward/internal/must"
)

// listener is one with its lock.
type listener struct {
	*socketfile.Listener
	lock *socketfile.Lock
}

func (l *listener) Close() error {
	defer l.lock.Free()
	return l.Listener.Close()
}

// try listens as a daemon does.
func try(path string, mode os.FileMode, gid int) (*listener, error) {
	lock, err := socketfile.TakeLock(path, mode, "")
	if err != nil {
		return nil, err
	}
	l, err := lock.Listen(mode, gid)
	if err != nil {
		lock.Free()
		return nil, err
	}
	return &listener{l, lock}, nil
}

// adopt goes on with a socket that another process has kept.
func adopt(t *testing.T, f *os.File, path string, mode os.FileMode) *listener {
	t.Helper()
	lock := must.Get(socketfile.TakeLock(path, mode, ""))(t)
	return &listener{must.Get(lock.Adopt(f, mode, -1))(t), lock}
}

func listen(t *testing.T, path string) *listener {
	t.Helper()
	l := must.Get(try(path, 0o660, -1))(t)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// checkAlive connects once.
func checkAlive(t *testing.T, l *listener, path string) {
	t.Helper()
	c := must.Get(net.Dial("unix", path))(t)
	defer c.Close()
	a := must.Get(l.Accept())(t)
	_ = a.Close()
}

func TestModeDespiteUmask(t *testing.T) {
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	for _, mode := range []os.FileMode{0o600, 0o660, 0o666, 0o777} {
		path := filepath.Join(t.TempDir(), "s")
		l := must.Get(try(path, mode, os.Getgid()))(t)
		info, err := os.Lstat(path)
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("mode %v (%v), want %v", info.Mode(), err, mode)
		}
		if gid := info.Sys().(*syscall.Stat_t).Gid; int(gid) != os.Getgid() {
			t.Errorf("group %d", gid)
		}
		_ = l.Close()
	}
}

// leave makes a socket file that nobody listens on, as a killed process does.
func leave(t *testing.T, path string) {
	t.Helper()
	l := must.Get(net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"}))(t)
	l.SetUnlinkOnClose(false)
	must.Do(t, l.Close())
}

func TestLiveSocketIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	first := listen(t, path)
	first.lock.Free() // as of a process that does not know it
	_, err := try(path, 0o660, -1)
	var inUse *socketfile.InUseError
	if !errors.As(err, &inUse) || inUse.Path != path {
		t.Fatalf("got %v", err)
	}
	if c, err := first.Accept(); err == nil {
		_ = c.Close() // of the dial that found it alive
	}
	checkAlive(t, first, path)
}

// A daemon whose queue of connections is full is alive, too.
func TestFullSocketIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	fd := must.Get(unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0))(t)
	defer unix.Close(fd) // ends with the test
	must.Do(t, errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: path}), unix.Listen(fd, 0)))
	for {
		c, err := net.Dial("unix", path)
		if err != nil {
			break
		}
		defer c.Close()
	}
	var inUse *socketfile.InUseError
	if _, err := try(path, 0o660, -1); !errors.As(err, &inUse) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("the socket is gone: %v", err)
	}
}

func TestRefusedPaths(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		t.Helper()
		must.Do(t, err)
	}
	must(os.Mkdir(in("dir"), 0o700))
	must(os.WriteFile(in("file"), []byte("precious"), 0o600))
	must(os.Symlink(in("file"), in("link")))
	leave(t, in("stale"))
	must(os.Symlink(in("stale"), in("linkstale")))
	must(os.Symlink(in("nowhere"), in("dangling")))
	must(unix.Mkfifo(in("fifo"), 0o600))
	long := in(strings.Repeat("x", 107))

	for _, c := range []struct{ path, text string }{
		{in("dir"), "is not a socket but a directory"},
		{in("file"), "is not a socket but a regular file"},
		{in("link"), "is not a socket but a symbolic link"},
		{in("linkstale"), "is not a socket but a symbolic link"},
		{in("dangling"), "is not a socket but a symbolic link"},
		{in("fifo"), "is not a socket but a special file"},
		{in("file/s"), "not a directory"},
		{long, "the system allows at most 107"},
		{"", "is empty"},
		{"@name", "./@name"},
	} {
		before := listing(t, dir)
		_, err := try(c.path, 0o660, -1)
		if err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%q: got %v, want one with %q", c.path, err, c.text)
		}
		if after := listing(t, dir); after != before {
			t.Errorf("%q: the directory was\n%s\nand is\n%s", c.path, before, after)
		}
	}
}

// listing is everything in a directory that must not change.
func listing(t *testing.T, dir string) string {
	t.Helper()
	entries := must.Get(os.ReadDir(dir))(t)
	var b strings.Builder
	for _, e := range entries {
		info := must.Get(e.Info())(t)
		b.WriteString(info.Mode().String() + " " + info.ModTime().String() + " " + e.Name() + "\n")
	}
	return b.String()
}

func TestLongestPath(t *testing.T) {
	dir := t.TempDir()
	longest := len(unix.RawSockaddrUnix{}.Path) - 1
	t.Chdir(dir)
	path := strings.Repeat("y", longest)
	checkAlive(t, listen(t, path), path)
	if _, err := try(path+"y", 0o660, -1); err == nil || !strings.Contains(err.Error(), "the system allows at most") {
		t.Errorf("one byte more: %v", err)
	}
}

// While another process has the lock, nobody touches the socket. What is handed over has it as
// well.
func TestLockedPathIsInUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	leave(t, path)
	lock := must.Get(socketfile.TakeLock(path, 0, ""))(t)
	handed := socketfile.AdoptLock(must.Get(dup(lock.File()))(t), path, "")
	var inUse *socketfile.InUseError
	for _, l := range []*socketfile.Lock{lock, handed} {
		if _, err := try(path, 0o660, -1); !errors.As(err, &inUse) {
			t.Errorf("got %v", err)
		}
		l.Free()
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("the socket is gone: %v", err)
	}
	checkAlive(t, listen(t, path), path)
}
