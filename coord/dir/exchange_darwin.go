package dir

import (
	"os"

	"golang.org/x/sys/unix"
)

// exchange swaps two files of a directory in one step.
func exchange(dir *os.File, one, other string) error {
	fd := int(dir.Fd())
	return unix.RenameatxNp(fd, one, fd, other, unix.RENAME_SWAP)
}
