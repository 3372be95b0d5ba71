package place

import (
	"encoding/hex"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Of returns what an open file or directory is known by. File systems without file handles, and
// sandboxes that forbid to ask, leave Handle empty.
func Of(f *os.File) (File, error) {
	var s unix.Stat_t
	for {
		err := unix.Fstat(int(f.Fd()), &s)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return File{}, fmt.Errorf("%s: %w", f.Name(), err)
		}
		break
	}
	known := File{Device: uint64(s.Dev), Inode: s.Ino} // of another width elsewhere
	if h, _, err := unix.NameToHandleAt(int(f.Fd()), "", unix.AT_EMPTY_PATH); err == nil {
		known.Handle = fmt.Sprintf("%d:%s", h.Type(), hex.EncodeToString(h.Bytes()))
	}
	return known, nil
}
