//go:build !linux

package journal

import "os"

// syncData makes the file's data survive a power cut.
func syncData(f *os.File) error { return f.Sync() }
