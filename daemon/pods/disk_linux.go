package pods

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

const (
	socketName = "flakeward.sock"
	// socketMode lets everybody connect who sees the file.
	socketMode = 0o666
	// backlog is how many connections may wait to be accepted; the kernel lowers it to
	// net.core.somaxconn.
	backlog = 1<<16 - 1
	// longestUser is the length of the longest user, in bytes: a namespace has 63 and a pod 253.
	longestUser = 320
)

// listener is a listening socket. Its Close takes the file away, if it still is that file, and
// unless the socket is kept.
type listener struct {
	*net.UnixListener
	path          string
	device, inode uint64
	kept          atomic.Bool
	closed        atomic.Bool
}

// Kept reports whether another process has the socket as well.
func (l *listener) Kept() bool { return l.kept.Load() }

// there reports whether the file is still there. Where that cannot be told, it is.
func (l *listener) there() bool {
	var now unix.Stat_t
	switch err := unix.Lstat(l.path, &now); {
	case err == nil:
		return uint64(now.Dev) == l.device && now.Ino == l.inode
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return false
	}
	return true
}

// Close implements net.Listener.
func (l *listener) Close() error {
	if l.closed.Swap(true) {
		return net.ErrClosed
	}
	var err error
	// The file goes first: while the socket is open, its inode cannot become another file's.
	var now unix.Stat_t
	if !l.Kept() && unix.Lstat(l.path, &now) == nil && uint64(now.Dev) == l.device && now.Ino == l.inode {
		err = os.Remove(l.path)
	}
	return errors.Join(err, l.UnixListener.Close())
}

// list returns the names in a directory.
func list(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only looked at
	return f.Readdirnames(-1)
}

// prepare makes DIR, and says who besides the daemon gets to the sockets in it.
func (p *Pods) prepare() {
	dir := p.config.Dir
	err := os.MkdirAll(filepath.Dir(dir), 0o755)
	if err == nil {
		err = os.Mkdir(dir, 0o700)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		p.config.Log.Error("the directory of pods' sockets cannot be made; waiting for it", "code", "pod-sockets-unreadable", "directory", dir, "error", err)
	}
	if info, err := os.Stat(dir); err == nil && info.Mode()&0o001 != 0 {
		p.config.Log.Warn("every user of the host can enter the directory of pods' sockets, and ask in the name of any pod",
			"code", "pod-sockets-open", "directory", dir, "mode", info.Mode().Perm())
	}
}

// openIn makes the socket of a directory, and returns it with its user; nil: there is no such
// directory.
func openIn(dir, name string) (user string, l *listener, err error) {
	of, err := unix.Open(filepath.Join(dir, name), unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil, nil
	case errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return "", nil, &RefusedError{CodeDirectory, "it is no directory"}
	case err != nil:
		return "", nil, err
	}
	defer unix.Close(of) // it was only looked at
	if user, err = readUser(of); err != nil {
		return "", nil, err
	}
	in, err := unix.Openat(of, "socket", unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil, &RefusedError{CodeIncomplete, "it has no directory socket"}
	case errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return "", nil, &RefusedError{CodeDirectory, "its socket is no directory"}
	case err != nil:
		return "", nil, err
	}
	defer unix.Close(in) // it was only looked at
	l, err = listen(in, filepath.Join(dir, name, "socket", socketName))
	return user, l, err
}

// readUser reads who asks, in a directory.
func readUser(of int) (string, error) {
	bad := func(why string) (string, error) { return "", &RefusedError{CodeUser, "its file user " + why} }
	var s unix.Stat_t
	switch err := unix.Fstatat(of, "user", &s, unix.AT_SYMLINK_NOFOLLOW); {
	case errors.Is(err, fs.ErrNotExist):
		return "", &RefusedError{CodeIncomplete, "it has no file user"}
	case err != nil:
		return "", err
	case s.Mode&unix.S_IFMT != unix.S_IFREG: // to open another may have effects
		return bad("is no regular file")
	}
	// It may have been replaced since: O_NONBLOCK does not wait for the other end of a FIFO.
	fd, err := unix.Openat(of, "user", unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return bad("cannot be opened: " + err.Error())
	}
	defer unix.Close(fd) // it was only read
	if err := unix.Fstat(fd, &s); err != nil || s.Mode&unix.S_IFMT != unix.S_IFREG {
		return bad("is no regular file")
	}
	text := make([]byte, longestUser+2)
	n, err := unix.Read(fd, text)
	if err != nil {
		return bad("cannot be read: " + err.Error())
	}
	user := strings.TrimSuffix(string(text[:n]), "\n")
	if why := wrongUser(user); why != "" {
		return bad(why)
	}
	return user, nil
}

// wrongUser says what is wrong with a user; empty: nothing. CLIENT LIST shows it between spaces,
// and nobody may be taken for a UID.
func wrongUser(user string) string {
	namespace, pod, _ := strings.Cut(user, "/")
	switch {
	case user == "":
		return "is empty"
	case len(user) > longestUser:
		return fmt.Sprintf("has more than %d bytes", longestUser)
	case strings.ContainsFunc(user, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "has a space, a second line, or what is not printable ASCII"
	case namespace == "" || pod == "" || strings.Contains(pod, "/"):
		return "is not of the form namespace/pod"
	}
	return ""
}

// listen makes the socket in a directory. One that a process left behind is replaced.
func listen(in int, path string) (*listener, error) {
	// The path of a descriptor is short, and leads to no other directory.
	short := fmt.Sprintf("/proc/self/fd/%d/%s", in, socketName)
	var s unix.Stat_t
	switch err := unix.Fstatat(in, socketName, &s, unix.AT_SYMLINK_NOFOLLOW); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case s.Mode&unix.S_IFMT != unix.S_IFSOCK:
		return nil, &RefusedError{CodeDirectory, "its " + socketName + " is no socket"}
	default:
		if err := removeStale(in, short); err != nil {
			return nil, err
		}
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close() // the listener has its own descriptor
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: short}); err != nil {
		return nil, fmt.Errorf("bind: %w", err)
	}
	// Nobody can connect before it listens.
	err = unix.Fchmodat(in, socketName, socketMode, 0)
	if err == nil {
		err = unix.Fstatat(in, socketName, &s, unix.AT_SYMLINK_NOFOLLOW)
	}
	if err == nil {
		err = unix.Listen(fd, backlog)
	}
	var l net.Listener
	if err == nil {
		l, err = net.FileListener(f)
	}
	if err != nil {
		_ = unix.Unlinkat(in, socketName, 0)
		return nil, err
	}
	return &listener{UnixListener: l.(*net.UnixListener), path: path, device: uint64(s.Dev), inode: s.Ino}, nil
}

// removeStale removes the socket if connecting to it shows that nobody listens.
func removeStale(in int, short string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("socket: %w", err)
	}
	err = unix.Connect(fd, &unix.SockaddrUnix{Name: short})
	_ = unix.Close(fd)
	switch {
	case err == nil, errors.Is(err, unix.EAGAIN):
		return &RefusedError{CodeInUse, "another process listens on its socket: two daemons have the same --pod-sockets"}
	case !errors.Is(err, unix.ECONNREFUSED):
		return fmt.Errorf("whether its socket is in use cannot be told: %w", err)
	}
	return unix.Unlinkat(in, socketName, 0)
}

// adopt is the socket of another process.
func adopt(dir string, s Socket) (*listener, error) {
	l, err := net.FileListener(s.File)
	if err != nil {
		return nil, err
	}
	u, ok := l.(*net.UnixListener)
	if !ok || wrongUser(s.User) != "" {
		return nil, errors.Join(errors.New("it is no pod's socket"), l.Close())
	}
	return &listener{UnixListener: u, path: filepath.Join(dir, s.Directory, "socket", socketName), device: s.Device, inode: s.Inode}, nil
}
