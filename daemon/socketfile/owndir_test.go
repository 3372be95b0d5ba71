//go:build unix

package socketfile_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/flakeward/flakeward/daemon/socketfile"
	"github.com/flakeward/flakeward/internal/must"
)

func TestOwnDir(t *testing.T) {
	me := os.Getuid()
	with := func(mode os.FileMode) func(string) error {
		return func(dir string) error { return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, mode)) }
	}
	for _, c := range []struct {
		name    string
		prepare func(dir string) error
		uid     int
		want    string // in the error; empty: it is safe
	}{
		{"only its user's", with(0o700), me, ""},
		{"others may look", with(0o755), me, ""},
		{"the group may write", with(0o770), me, "may be written to by others"},
		{"others may write", with(0o703), me, "may be written to by others"},
		{"others may write, and remove what is theirs", with(0o777 | os.ModeSticky), me, "may be written to by others"},
		{"another user's", with(0o700), me + 1, fmt.Sprintf("does not belong to user %d", me+1)},
		{"a link to a safe one", func(dir string) error { return errors.Join(os.Mkdir(dir+"2", 0o700), os.Symlink(dir+"2", dir)) }, me, "is a symbolic link"},
		{"a link to nothing", func(dir string) error { return os.Symlink(dir+"2", dir) }, me, "is a symbolic link"},
		{"a file", func(dir string) error { return os.WriteFile(dir, nil, 0o600) }, me, "is no directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "d")
			must.Do(t, c.prepare(dir))
			before := listing(t, filepath.Dir(dir))
			for _, err := range []error{socketfile.CheckOwnDir(dir, c.uid), socketfile.MakeOwnDir(dir, c.uid)} {
				var unsafeDir *socketfile.UnsafeDirError
				switch {
				case c.want == "" && err != nil:
					t.Errorf("got %v", err)
				case c.want == "":
				case !errors.As(err, &unsafeDir) || unsafeDir.Dir != dir || unsafeDir.Owner != me:
					t.Errorf("got %v", err)
				default:
					for _, want := range []string{c.want, dir, fmt.Sprintf("owner %d", me), unsafeDir.Mode.String(), "--socket"} {
						if !strings.Contains(err.Error(), want) {
							t.Errorf("got %v, want %q in it", err, want)
						}
					}
				}
			}
			if after := listing(t, filepath.Dir(dir)); after != before {
				t.Errorf("it was\n%s\nand is\n%s", before, after)
			}
		})
	}
}

func TestMakeOwnDir(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	dir := filepath.Join(t.TempDir(), "d")
	if err := socketfile.CheckOwnDir(dir, os.Getuid()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing one: %v", err)
	}
	must.Do(t, socketfile.MakeOwnDir(dir, os.Getuid()))
	if info, err := os.Lstat(dir); err != nil || info.Mode() != fs.ModeDir|0o700 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
	if err := socketfile.MakeOwnDir(filepath.Join(dir, "not", "there"), os.Getuid()); err == nil || !strings.Contains(err.Error(), "--socket") {
		t.Errorf("without a directory above: %v", err)
	}
}

func TestDirectoryThatCannotBeMade(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	must.Do(t, os.Symlink("nowhere", link))
	_, err := try(filepath.Join(link, "s"), 0, -1)
	if err == nil || !strings.Contains(err.Error(), "cannot make the directory") || !strings.Contains(err.Error(), "--socket") {
		t.Errorf("got %v", err)
	}
}
