//go:build unix

package socketfile_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/daemon/socketfile"
	"github.com/flakeward/flakeward/internal/must"
)

func restore(t *testing.T, l *listener, want bool) {
	t.Helper()
	if made, err := l.Restore(); made != want || err != nil {
		t.Fatalf("Restore: %t, %v; want %t", made, err, want)
	}
}

// A file that is gone is made again, with its directory; who is connected stays connected, and who
// waits for a connection gets those that come by the new file.
func TestRestore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	path := filepath.Join(dir, "s")
	l := listen(t, path)
	restore(t, l, false)
	before := must.Get(net.Dial("unix", path))(t)
	defer before.Close()
	kept := must.Get(l.Accept())(t)
	defer kept.Close()
	accepted := make(chan error)
	go func() {
		for {
			c, err := l.Accept()
			if err == nil {
				err = c.Close()
			}
			accepted <- err
			if err != nil {
				return
			}
		}
	}()
	for _, remove := range []string{path, dir} {
		must.Do(t, os.RemoveAll(remove))
		restore(t, l, true)
		restore(t, l, false)
		c := must.Get(net.Dial("unix", path))(t)
		_ = c.Close()
		must.Do(t, <-accepted)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o660 {
		t.Errorf("the file is %v, %v", info, err)
	}
	if _, err := before.Write([]byte("x")); err != nil {
		t.Errorf("the connection from before: %v", err)
	}
	must.Do(t, l.Close(), l.Close())
	if err := <-accepted; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept after Close: %v", err)
	}
	restore(t, l, false)
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after Close, the file is there: %v", err)
	}
}

// Where the file cannot be made again, all stays as it is, and the next try makes it.
func TestRestoreThatFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l := listen(t, path)
	accepted := make(chan error)
	go func() {
		_, err := l.Accept() // which ends with the test's process
		accepted <- err
	}()
	must.Do(t, os.Remove(path))
	var limit unix.Rlimit
	must.Do(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit), unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: limit.Max}))
	made, err := l.Restore()
	must.Do(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
	if made || !errors.Is(err, unix.EMFILE) || l.Addr() == nil {
		t.Fatalf("without a free descriptor: %v, %v, at %v", made, err, l.Addr())
	}
	restore(t, l, true)
	c := must.Get(net.Dial("unix", path))(t)
	defer c.Close()
	must.Do(t, <-accepted)
}

// A file that is somebody else's is left alone.
func TestRestoreLeavesAnothersFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l := listen(t, path)
	must.Do(t, os.Rename(path, path+".moved"))
	l.lock.Free() // who does not ask for the lock has the file all the same
	other := listen(t, path)
	made, err := l.Restore()
	var replaced *socketfile.ReplacedError
	if made || !errors.As(err, &replaced) {
		t.Errorf("Restore: %t, %v", made, err)
	}
	must.Do(t, l.Close())
	checkAlive(t, other, path)
}

// handOver returns a descriptor of the listener's socket, as systemd would keep it.
func handOver(l *listener) (f *os.File, err error) {
	raw, err := l.SyscallConn()
	if err != nil {
		return nil, err
	}
	e := raw.Control(func(fd uintptr) {
		var own int
		if own, err = unix.Dup(int(fd)); err == nil {
			f = os.NewFile(uintptr(own), "kept")
		}
	})
	return f, errors.Join(e, err)
}

func dup(f *os.File) (*os.File, error) {
	own, err := unix.Dup(int(f.Fd()))
	return os.NewFile(uintptr(own), "kept"), err
}

// A socket that another process keeps is served by one listener after the other: who connects in
// between waits, and nobody is refused.
func TestAKeptSocketRefusesNobody(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	first := listen(t, path)
	raw := must.Get(net.Dial("unix", path))(t)
	defer raw.Close()
	kept := must.Get(handOver(first))(t)
	defer kept.Close()
	first.Keep()
	must.Do(t, first.Close())
	between, err := net.Dial("unix", path)
	if err != nil {
		t.Fatalf("nobody serves, and a client is refused: %v", err)
	}
	defer between.Close()
	for _, foreign := range []bool{false, true} {
		again := must.Get(dup(kept))(t)
		next := adopt(t, again, path, 0o600)
		next.Keep()
		if foreign {
			next.Foreign()
		} else if err := next.SetAccess(); err != nil {
			t.Fatal(err)
		}
		c := must.Get(next.Accept())(t)
		_ = c.Close()
		restore(t, next, false)
		must.Do(t, next.Close())
		if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("the file afterwards: %v, %v", info, err)
		}
	}
}

// The file of a unit's socket is not made again: systemd would not know of it.
func TestAUnitsSocketIsNotMadeAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	first := listen(t, path)
	kept := must.Get(handOver(first))(t)
	first.lock.Free()
	l := adopt(t, kept, path, 0o660)
	l.Foreign()
	defer l.Close()
	must.Do(t, os.Remove(path))
	if made, err := l.Restore(); made || err == nil {
		t.Errorf("Restore: %t, %v; want an error", made, err)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("the file was made")
	}
}
