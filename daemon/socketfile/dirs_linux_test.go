package socketfile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/flakeward/flakeward/daemon/socketfile"
	"github.com/flakeward/flakeward/internal/must"
)

// A directory that is made lets in whom the socket does, whatever the umask.
func TestDirectoriesLetInWhomTheSocketDoes(t *testing.T) {
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	for mode, want := range map[fs.FileMode]fs.FileMode{0o660: 0o755, 0o606: 0o755, 0o600: 0o700} {
		base := t.TempDir()
		l := must.Get(try(filepath.Join(base, "new", "dir", "s"), mode, os.Getgid()))(t)
		for _, name := range []string{"new", "new/dir"} {
			if info, err := os.Stat(filepath.Join(base, name)); err != nil || info.Mode().Perm() != want {
				t.Errorf("for a socket of mode %v, %s has %v, %v; want %v", mode, name, info.Mode(), err, want)
			}
		}
		_ = l.Close()
	}
}

func TestKeepsOut(t *testing.T) {
	base := t.TempDir()
	must.Do(t, os.Chmod(filepath.Dir(base), 0o755)) // a test's directory is its own
	dir := filepath.Join(base, "d")
	must.Do(t, os.Mkdir(dir, 0o755))
	own := os.Getegid()
	for _, c := range []struct {
		dir, socket fs.FileMode
		gid         int
		keptOut     bool
	}{
		{0o755, 0o666, own, false},
		{0o700, 0o600, own, false},
		{0o700, 0o660, own, true},
		{0o700, 0o660, -1, true},
		{0o750, 0o660, own, false},
		{0o750, 0o660, own + 1, true},
		{0o705, 0o660, own, true}, // the group's bits count for its members, and they are less
		{0o705, 0o660, own + 1, false},
		{0o750, 0o666, own, true},
	} {
		must.Do(t, os.Chmod(dir, c.dir))
		want := ""
		if c.keptOut {
			want = dir
		}
		if got := socketfile.KeepsOut(filepath.Join(dir, "s"), c.socket, c.gid); got != want {
			t.Errorf("a directory of %v and a socket of %v, group %d: %q, want %q", c.dir, c.socket, c.gid, got, want)
		}
	}
}
