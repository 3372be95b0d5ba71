package dir

import (
	"os"

	"golang.org/x/sys/unix"
)

// exchange swaps two files of a directory in one step.
func exchange(dir *os.File, one, other string) error {
	fd := int(dir.Fd())
	return unix.Renameat2(fd, one, fd, other, unix.RENAME_EXCHANGE)
}
