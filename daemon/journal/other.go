//go:build !linux

package journal

import (
	"os"
	"time"
)

// born is when a file was made; zero: not known.
func born(string) time.Time { return time.Time{} }

// fileSystemOf tells no type: the numbers are Linux's. Elsewhere nothing is
// refused, and to keep the directory on a local disk is up to the operator.
func fileSystemOf(*os.File) (fileSystemType, error) { return untold, nil }

// syncData makes the file's data survive a power cut.
func syncData(f *os.File) error { return f.Sync() }
