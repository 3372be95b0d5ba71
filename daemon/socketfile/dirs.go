//go:build unix

package socketfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const (
	// dirMode is for a directory that is made: the socket's own mode says who may connect, and
	// others may see that it is there.
	dirMode fs.FileMode = 0o755
	// notOwner are the permission bits of a socket that let in more than its owner.
	notOwner fs.FileMode = 0o077
)

// makeDirs makes what is missing of a directory's path. If the socket lets in more than its owner,
// those directories do, too, whatever the umask.
func makeDirs(dir string, socket fs.FileMode) error {
	switch info, err := os.Stat(dir); {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return &fs.PathError{Op: "mkdir", Path: dir, Err: unix.ENOTDIR}
	}
	if err := makeDirs(filepath.Dir(dir), socket); err != nil {
		return err
	}
	err := os.Mkdir(dir, dirMode)
	if errors.Is(err, fs.ErrExist) { // somebody else has just made it, or it is a link to nothing
		_, err = os.Stat(dir)
		return err
	}
	if err == nil && socket&notOwner != 0 {
		err = os.Chmod(dir, dirMode)
	}
	return err
}

// KeepsOut returns the first directory on the way to path that keeps out whom a socket there with
// mode and group gid (-1: the process's) would let in; empty: none does. It goes by permission
// bits: where access lists say more, it may be wrong.
func KeepsOut(path string, mode fs.FileMode, gid int) (dir string) {
	if gid < 0 {
		gid = os.Getegid()
	}
	whole, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	for dir := filepath.Dir(whole); ; dir = filepath.Dir(dir) {
		var s unix.Stat_t
		if unix.Stat(dir, &s) != nil {
			return ""
		}
		group := s.Mode&0o001 != 0
		if int(s.Gid) == gid {
			group = s.Mode&0o010 != 0
		}
		if mode&0o020 != 0 && !group || mode&0o002 != 0 && s.Mode&0o001 == 0 {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}
