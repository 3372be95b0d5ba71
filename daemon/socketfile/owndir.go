//go:build unix

package socketfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

const (
	ownDirMode  fs.FileMode = 0o700
	othersWrite fs.FileMode = 0o022 // write permission for the group and for others
)

// UnsafeDirError says that another user could put a socket of his own in place of the one in Dir.
type UnsafeDirError struct {
	Dir   string
	Owner int // a user ID
	Mode  fs.FileMode
	User  int // whose it has to be
}

func (e *UnsafeDirError) Error() string {
	var wrong []string
	switch {
	case e.Mode&fs.ModeSymlink != 0:
		wrong = append(wrong, "is a symbolic link")
	case !e.Mode.IsDir():
		wrong = append(wrong, "is no directory")
	}
	if e.Owner != e.User {
		wrong = append(wrong, fmt.Sprintf("does not belong to user %d", e.User))
	}
	if e.Mode.IsDir() && e.Mode&othersWrite != 0 {
		wrong = append(wrong, "may be written to by others")
	}
	return fmt.Sprintf("the socket's directory %s (owner %d, mode %v) is not safe, since it %s: another user could put a socket there; "+
		"remove it or make it yours alone, or choose another path with --socket", e.Dir, e.Owner, e.Mode, strings.Join(wrong, " and "))
}

// MakeOwnDir makes dir with mode 0700, if it is missing, and checks it as CheckOwnDir does. It
// makes no directories above.
func MakeOwnDir(dir string, uid int) error {
	if err := os.Mkdir(dir, ownDirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("cannot make the directory of the socket: %w: choose another path with --socket", err)
	}
	return CheckOwnDir(dir, uid)
}

// CheckOwnDir reports whether what is in dir can have been put there by the user uid only: it is to
// be asked of a directory whose parent is open to everyone, with the sticky bit, such as /tmp.
// Anything but a directory of that user that neither group nor others may write to is an
// *UnsafeDirError; so is a symbolic link, wherever it leads. An error for a missing one is
// fs.ErrNotExist.
func CheckOwnDir(dir string, uid int) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("cannot look at the directory of the socket: %w", err)
	}
	owner := -1 // nobody's
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		owner = int(stat.Uid)
	}
	if owner != uid || !info.IsDir() || info.Mode()&othersWrite != 0 {
		return &UnsafeDirError{Dir: dir, Owner: owner, Mode: info.Mode(), User: uid}
	}
	return nil
}
