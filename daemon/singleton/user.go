//go:build unix

package singleton

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/daemon/socketfile"
	"github.com/flakeward/flakeward/internal/filelock"
)

const lockName = "without-coord.lock"

// isNoPlace reports whether an error means that no file can be made there at all.
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

// lockUser takes the lock of the user in a directory, which is made if it is missing.
func lockUser(dir string, user int) (_ *os.File, err error) {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("the directory of this user's lock: %w", err)
	}
	if err := checkOwn(dir, user); err != nil {
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
	var held *filelock.HeldError
	if err := filelock.Lock(f); errors.As(err, &held) {
		return nil, &HeldError{Lock: "this user", Place: path, PID: held.PID}
	} else if err != nil {
		return nil, fmt.Errorf("cannot lock %s: %w; name the coordinator with --coord", path, err)
	}
	// Whoever cleans up old files leaves one with the sticky bit (XDG Base Directory Specification
	// 0.8, XDG_RUNTIME_DIR; tmpfiles.d(5) keeps to it elsewhere). Systems other than Linux may
	// refuse it.
	_ = f.Chmod(0o600 | fs.ModeSticky)
	return f, nil
}
