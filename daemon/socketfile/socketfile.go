//go:build unix

// Package socketfile makes a listening Unix socket in the file system without harming anything that
// is there already, and takes it away again.
//
// A socket file that nobody listens on is left behind by every process that was killed; it has to
// be removed before its name can be used again. One that somebody does listen on must stay, and so
// must whatever is no socket. Looking and removing are two steps, so whoever does both has the lock
// of a file beside the socket, <path>.lock, from before until it uses the path no more.
package socketfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/internal/filelock"
)

const (
	// dialTimeout is how long a listener may take to show that it is alive. Connecting takes no
	// part of its process, only of the kernel.
	dialTimeout = time.Second
	// backlog is how many connections may wait to be accepted; the kernel lowers it to
	// net.core.somaxconn.
	backlog = 1<<16 - 1
)

// InUseError says that another process listens on the socket, or has its lock.
type InUseError struct {
	Path string
	PID  int // of the process, as it sees it itself; 0: it is not known
}

func (e *InUseError) Error() string {
	return fmt.Sprintf("the socket %s is in use by %s: end that one, or choose another path", e.Path, filelock.Process(e.PID))
}

// longestPath is the longest path that fits into a socket address with the NUL after it: 107 bytes
// on Linux, 103 on BSD.
var longestPath = len(unix.RawSockaddrUnix{}.Path) - 1

// setAccess sets group and mode of a socket's file.
func setAccess(path string, mode os.FileMode, gid int) error {
	if gid >= 0 {
		if err := os.Lchown(path, -1, gid); err != nil {
			return fmt.Errorf("cannot give the socket to group %d: %w", gid, err)
		}
	}
	if err := os.Chmod(path, mode.Perm()); err != nil { // last, because chown may take bits away
		return fmt.Errorf("cannot set the mode of the socket: %w", err)
	}
	return nil
}

// Check returns what Listen would refuse about the path, whoever listens there now.
func Check(path string) error {
	if err := checkPath(path); err != nil {
		return err
	}
	if there, err := look(path); err != nil || there {
		return err // a socket that is there may be systemd's, or be handed over
	}
	return writable(filepath.Dir(path), path)
}

// writable returns an error unless this user could make the socket in dir, which may be missing as
// well.
func writable(dir, path string) error {
	err := unix.Access(dir, unix.W_OK|unix.X_OK)
	if errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
		return writable(filepath.Dir(dir), path)
	}
	if err != nil {
		return fmt.Errorf("this user cannot make the socket %s: %w: run it as the daemon's user, or choose another path with --socket",
			path, &fs.PathError{Op: "access", Path: dir, Err: err})
	}
	return nil
}

// listen makes the file, and what it needs.
func (l *Listener) listen() error {
	path := l.path
	if err := makeDirs(filepath.Dir(path), l.mode); err != nil {
		return fmt.Errorf("cannot make the directory of the socket %s: %w: choose another path with --socket", path, err)
	}
	there, err := look(path)
	if err != nil {
		return err
	}
	if there {
		if err := removeStale(path); err != nil {
			return err
		}
	}
	socket, file, err := bind(path, l.mode, l.gid)
	if err == nil { // otherwise Accept goes on with the one that there is
		l.socket, l.file = socket, file
	}
	return err
}

func checkPath(path string) error {
	switch {
	case path == "":
		return errors.New("the socket's path is empty")
	case path[0] == '@':
		return fmt.Errorf("the socket's path %q begins with @, which stands for a socket without a file: write ./%s if you mean a file", path, path)
	case len(path) > longestPath:
		return fmt.Errorf("the socket's path has %d bytes, but the system allows at most %d: choose a shorter one than %s", len(path), longestPath, path)
	}
	return nil
}

// look reports whether a socket is there; what is no socket is an error.
func look(path string) (bool, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("cannot look at the socket's path: %w: choose another path with --socket", err)
	case info.Mode()&fs.ModeSocket == 0:
		return false, fmt.Errorf("%s is not a socket but %s: it is left alone; choose another path, or remove it", path, describe(info.Mode()))
	}
	return true, nil
}

func describe(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	case m.IsRegular():
		return "a regular file"
	}
	return "a special file"
}

// removeStale removes the socket if connecting to it shows that nobody listens.
func removeStale(path string) error {
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", path)
	switch {
	case err == nil:
		_ = c.Close()
		return &InUseError{Path: path}
	case errors.Is(err, unix.EAGAIN), errors.Is(err, context.DeadlineExceeded): // its queue is full
		return &InUseError{Path: path}
	case errors.Is(err, unix.ENOENT):
		return nil
	case !errors.Is(err, unix.ECONNREFUSED):
		return fmt.Errorf("cannot tell whether the socket %s is in use, so it is left alone: %w", path, err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot remove the socket that a process left behind: %w", err)
	}
	return nil
}

// socket makes one that no process gets that is started meanwhile.
func socket() (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fd)
	}
	return fd, err
}

// bind makes the socket file and, once it is as it should be, listens.
func bind(path string, mode os.FileMode, gid int) (l *net.UnixListener, file unix.Stat_t, err error) {
	fd, err := socket()
	if err != nil {
		return nil, file, fmt.Errorf("cannot make a socket: %w", err)
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close() // the listener has its own descriptor
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		return nil, file, fmt.Errorf("cannot bind a socket to %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(path) // ours: it was not there before
		}
	}()
	if err := setAccess(path, mode, gid); err != nil {
		return nil, file, err
	}
	if err := unix.Lstat(path, &file); err != nil {
		return nil, file, fmt.Errorf("cannot look at the socket %s: %w", path, err)
	}
	if err := unix.Listen(fd, backlog); err != nil {
		return nil, file, fmt.Errorf("cannot listen on %s: %w", path, err)
	}
	general, err := net.FileListener(f)
	if err != nil {
		return nil, file, fmt.Errorf("cannot listen on %s: %w", path, err)
	}
	return general.(*net.UnixListener), file, nil
}
