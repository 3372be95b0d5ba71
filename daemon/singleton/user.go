//go:build unix

package singleton

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/daemon/socketfile"
)

const lockName = "without-coord.lock"

// isNoPlace tells whether an error means that no file can be made there at all.
func isNoPlace(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS)
}

// checkOwn is an error unless dir is a directory that only the user can write to.
func checkOwn(dir string, user int) error {
	err := socketfile.CheckOwnDir(dir, user)
	var unsafe *socketfile.UnsafeDirError
	if errors.As(err, &unsafe) {
		return fmt.Errorf("%s (owner %d, mode %v) is no directory that user %d alone can write to, so the lock of this user cannot be "+
			"there: remove it or make it yours alone, or name the coordinator with --coord", dir, unsafe.Owner, unsafe.Mode, user)
	}
	return err
}

// lockUser takes the lock of the user. A child of this process does not inherit it: Go opens every file
// close-on-exec.
func lockUser(p places) (_ io.Closer, err error) {
	dir, err := p.userDir()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, lockName)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the lock of this user: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	if err := flock(f); errors.Is(err, unix.EWOULDBLOCK) {
		return nil, &HeldError{Lock: "this user", Place: path, PID: readPID(f)}
	} else if err != nil {
		return nil, fmt.Errorf("cannot lock %s: %w; name the coordinator with --coord", path, err)
	}
	// Whoever cleans up old files leaves one with the sticky bit (XDG Base Directory Specification 0.8,
	// XDG_RUNTIME_DIR; tmpfiles.d(5) keeps to it elsewhere). Systems other than Linux may refuse it.
	_ = f.Chmod(0o600 | fs.ModeSticky)
	if err := writePID(f); err != nil {
		return nil, fmt.Errorf("cannot write to %s: %w; name the coordinator with --coord", path, err)
	}
	return f, nil
}

func flock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// writePID leaves this process's number in the lock, for the error that others get.
func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// readPID returns the number in the lock, or 0: the holder may not have written it yet.
func readPID(f *os.File) int {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 32))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || pid < 0 {
		return 0
	}
	return pid
}
