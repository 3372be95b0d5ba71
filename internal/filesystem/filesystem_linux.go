package filesystem

import (
	"os"

	"golang.org/x/sys/unix"
)

// Of returns the type of the file system that dir is on.
func Of(dir *os.File) (Type, error) {
	var s unix.Statfs_t
	for {
		err := unix.Fstatfs(int(dir.Fd()), &s)
		if err == unix.EINTR {
			continue
		}
		return Type(s.Type), err
	}
}
