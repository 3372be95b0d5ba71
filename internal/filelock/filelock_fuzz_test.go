package filelock

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

// FuzzPID: the number that an error tells of a lock's holder is one that the lock begins with, or
// none.
func FuzzPID(f *testing.F) {
	lock := must.Get(os.Create(filepath.Join(f.TempDir(), "lock")))(f)
	f.Cleanup(func() { lock.Close() })
	for _, content := range []string{"", "1234\n", "1234\nnote\n", "1234\nnote", "-5\n", "0", "12 34\n", "99999999999999999999\n", strings.Repeat("1", 40)} {
		f.Add([]byte(content))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		must.Do(t, lock.Truncate(0))
		must.Get(lock.WriteAt(content, 0))(t)
		pid, note := read(lock)
		lines := strings.Split(string(content[:min(128, len(content))])+"\n\n", "\n")
		digits := strings.TrimLeft(strings.TrimPrefix(lines[0], "+"), "0")
		if pid < 0 || pid > 0 && strconv.Itoa(pid) != digits || note != lines[1] {
			t.Errorf("%q is process %d with the note %q", content, pid, note)
		}
	})
}
