//go:build !linux

package place

import (
	"fmt"
	"os"
	"syscall"
)

// Of returns what an open file or directory is known by; the handle is Linux's.
func Of(f *os.File) (File, error) {
	info, err := f.Stat()
	if err != nil {
		return File{}, err
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return File{}, fmt.Errorf("%s: its device and inode are not known on this system", f.Name())
	}
	return File{Device: uint64(s.Dev), Inode: uint64(s.Ino)}, nil // of other widths elsewhere
}
