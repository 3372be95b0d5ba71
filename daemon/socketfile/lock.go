//go:build unix

package socketfile

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/internal/filelock"
)

// Lock is the lock of a socket's path: one process at a time has it, for as long as it uses the
// path.
type Lock struct {
	path string // the socket's
	file *os.File

	// Before is the note of the process that had the lock last, and could not hand it over: a hint.
	Before string
}

// TakeLock takes the lock of a socket at path. A directory that is missing is made, and lets in
// whom the socket's mode does. The lock file holds the note, a line, for the next that takes the
// lock. It is not removed: to remove it is a race. If another process has the lock, the error is an
// *InUseError.
func TakeLock(path string, mode os.FileMode, note string) (*Lock, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	if _, err := look(path); err != nil { // before anything is made beside it
		return nil, err
	}
	if err := makeDirs(filepath.Dir(path), mode); err != nil {
		return nil, fmt.Errorf("cannot make the directory of the socket %s: %w: choose another path with --socket", path, err)
	}
	name := path + ".lock"
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open the lock file %s: %w: choose another path with --socket", name, err)
	}
	before, err := filelock.Lock(f, note)
	if err == nil {
		return &Lock{path, f, before}, nil
	}
	_ = f.Close() // the other error tells more
	if held := (*filelock.HeldError)(nil); errors.As(err, &held) {
		return nil, &InUseError{Path: path, PID: held.PID}
	}
	return nil, fmt.Errorf("cannot lock %s: %w", name, err)
}

// AdoptLock is TakeLock with the lock that another process has handed over, which has it as well.
func AdoptLock(f *os.File, path, note string) *Lock {
	_ = filelock.Write(f, note) // a hint, which only the next start misses
	return &Lock{path: path, file: f}
}

// File is what another process is handed.
func (l *Lock) File() *os.File { return l.file }

// Forget has the lock file hold no note. Nil has none.
func (l *Lock) Forget() {
	if l != nil {
		_ = filelock.Write(l.file, "")
	}
}

// Free frees the lock, unless another process has it as well. Nil has none.
func (l *Lock) Free() {
	if l != nil {
		_ = l.file.Close()
	}
}

// Listen listens on the path. mode is the file's permission bits whatever the umask, gid
// its group (-1: as it comes). Nobody can connect before mode and group are set.
//
// A stale socket at the path is replaced. If a process listens there, the error is an *InUseError.
// Anything else there, symbolic links included, is an error, and is left alone.
func (l *Lock) Listen(mode os.FileMode, gid int) (*Listener, error) {
	made := &Listener{path: l.path, mode: mode, gid: gid}
	if err := made.listen(); err != nil {
		return nil, err
	}
	return made, nil
}

// Adopt is Listen with the socket on which another process has listened. It closes the file that it
// is given.
func (l *Lock) Adopt(f *os.File, mode os.FileMode, gid int) (*Listener, error) {
	defer f.Close() // the listener has its own descriptor
	general, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("the socket %s that was handed over: %w", l.path, err)
	}
	socket, ok := general.(*net.UnixListener)
	if !ok {
		return nil, errors.Join(fmt.Errorf("what was handed over for %s is no Unix socket", l.path), general.Close())
	}
	made := &Listener{path: l.path, mode: mode, gid: gid, socket: socket}
	// A file that is gone, or is another socket's, is Restore's affair.
	if err := unix.Lstat(l.path, &made.file); err != nil && !errors.Is(err, unix.ENOENT) {
		return nil, errors.Join(fmt.Errorf("cannot look at the socket %s: %w", l.path, err), socket.Close())
	}
	return made, nil
}
