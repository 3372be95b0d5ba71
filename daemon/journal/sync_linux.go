package journal

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncData makes the file's data survive a power cut. The file keeps its length and its blocks, so
// its times are all that the system would have to write besides.
func syncData(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); err != unix.EINTR {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
