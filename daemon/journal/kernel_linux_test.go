package journal

import (
	"strings"
	"testing"
)

// Root may write to directories of the kernel's file systems, and make nothing there.
func TestAFileSystemOfTheKernelIsRefused(t *testing.T) {
	for path, name := range map[string]string{"/proc/x": "proc", "/proc": "", "/proc/sys/x/y": "proc", "/sys/kernel/x": "sysfs"} {
		_, err := Look(path)
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "--state-dir") {
			t.Errorf("Look(%s): %v, want that it is on %s, and what to do", path, err, name)
		}
	}
}
