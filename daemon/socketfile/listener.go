//go:build unix

package socketfile

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Listener is a listening socket with its file. Its Close takes the file away, if it still is that
// file, and unless the socket is kept. Its methods may be called from any goroutine.
type Listener struct {
	path    string
	mode    os.FileMode
	gid     int
	kept    atomic.Bool
	foreign atomic.Bool // another process has made the file

	mu     sync.Mutex // not held while a connection is waited for
	socket *net.UnixListener
	file   unix.Stat_t
	closed bool
	err    error // of Close
}

// File returns the listening socket, to be handed to another process. The caller closes it.
func (l *Listener) File() (*os.File, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.socket.File()
}

// SetDeadline has Accept fail at t with os.ErrDeadlineExceeded; zero: never.
func (l *Listener) SetDeadline(t time.Time) error { return l.current().SetDeadline(t) }

// ReplacedError says that the socket's path leads to a file that is not the listener's.
type ReplacedError struct{ Path string }

func (e *ReplacedError) Error() string {
	return fmt.Sprintf("the file %s is another one than the socket that was made there", e.Path)
}

// Restore makes the file again if it is gone, and then returns true. Connections that are open
// stay. An error leaves the listener as it is; a *ReplacedError is one for a path that another file
// has taken, which is left alone.
func (l *Listener) Restore() (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false, nil
	}
	var now unix.Stat_t
	switch err := unix.Lstat(l.path, &now); {
	case err == nil && now.Dev == l.file.Dev && now.Ino == l.file.Ino:
		return false, nil
	case err == nil:
		return false, &ReplacedError{l.path}
	case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTDIR):
		return false, fmt.Errorf("cannot look at the socket %s: %w", l.path, err)
	case l.foreign.Load():
		return false, fmt.Errorf("the socket %s belongs to a socket unit, which has to make it again: restart that unit", l.path)
	}
	old := l.socket
	if err := l.listen(); err != nil {
		return false, err
	}
	return true, old.Close() // wakes Accept, which goes on with the new one
}

func (l *Listener) current() *net.UnixListener {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.socket
}

// Accept implements net.Listener, over all files that the listener makes.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		socket := l.current()
		c, err := socket.Accept()
		if err == nil || !errors.Is(err, net.ErrClosed) || l.current() == socket {
			return c, err
		}
	}
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return l.current().Addr() }

// SyscallConn implements syscall.Conn for the present socket.
func (l *Listener) SyscallConn() (syscall.RawConn, error) { return l.current().SyscallConn() }

// Keep says that another process has the socket as well, and hands it to the next one that serves:
// who connects meanwhile waits. So it must not be shut down, and its file stays.
func (l *Listener) Keep() { l.kept.Store(true) }

// Foreign says that a socket unit has made the file: its access stays, and Restore makes no other.
func (l *Listener) Foreign() { l.foreign.Store(true) }

// IsForeign reports whether Foreign was called.
func (l *Listener) IsForeign() bool { return l.foreign.Load() }

// SetAccess gives the file the mode and the group that the listener was made with.
func (l *Listener) SetAccess() error {
	err := setAccess(l.path, l.mode, l.gid)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // Restore's affair
	}
	return err
}

// Kept reports whether Keep was called.
func (l *Listener) Kept() bool { return l.kept.Load() }

// Close stops listening and removes the socket file, unless another has taken its place, or the
// socket is kept.
func (l *Listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return l.err
	}
	l.closed = true
	if l.Kept() {
		l.err = l.socket.Close()
		return l.err
	}
	// The file goes first: while the socket is open, its inode cannot become another file's.
	var now unix.Stat_t
	if unix.Lstat(l.path, &now) == nil && now.Dev == l.file.Dev && now.Ino == l.file.Ino {
		l.err = os.Remove(l.path)
	}
	if err := l.socket.Close(); l.err == nil {
		l.err = err
	}
	return l.err
}
