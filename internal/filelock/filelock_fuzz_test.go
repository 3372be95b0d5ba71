package filelock

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// FuzzPID: the number that an error tells of a lock's holder is one that the lock begins with, or
// none.
func FuzzPID(f *testing.F) {
	lock, err := os.Create(filepath.Join(f.TempDir(), "lock"))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { lock.Close() })
	for _, content := range []string{"", "1234\n", "-5\n", "0", "12 34\n", "99999999999999999999\n", strings.Repeat("1", 40)} {
		f.Add([]byte(content))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := lock.Truncate(0); err != nil {
			t.Fatal(err)
		}
		if _, err := lock.WriteAt(content, 0); err != nil {
			t.Fatal(err)
		}
		pid := readPID(lock)
		digits := strings.TrimLeft(strings.TrimPrefix(strings.TrimSpace(string(content[:min(32, len(content))])), "+"), "0")
		if pid < 0 || pid > 0 && strconv.Itoa(pid) != digits {
			t.Errorf("%q is process %d", content, pid)
		}
	})
}
