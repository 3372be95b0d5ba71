package journal

import (
	"os"

	"golang.org/x/sys/unix"
)

// fileSystemOf returns the type of the file system that dir is on.
func fileSystemOf(dir *os.File) (fileSystemType, error) {
	var s unix.Statfs_t
	for {
		err := unix.Fstatfs(int(dir.Fd()), &s)
		if err == unix.EINTR {
			continue
		}
		return fileSystemType(s.Type), err
	}
}
