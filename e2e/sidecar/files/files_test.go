package files_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/flakeward/flakeward/e2e/sidecar/files"
)

func write(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// tree is what is below a directory: names, modes, owners and contents.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		below, _ := filepath.Rel(dir, path)
		stat := info.Sys().(*syscall.Stat_t)
		text := ""
		switch {
		case info.Mode().IsRegular():
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text = string(b)
		case info.Mode()&fs.ModeSymlink != 0:
			text, _ = os.Readlink(path)
		}
		all = append(all, below+" "+info.Mode().String()+" "+string(rune('0'+stat.Uid%64))+string(rune('0'+stat.Gid%64))+" "+text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestCopy(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "new", "to")
	write(t, filepath.Join(from, "a"), "alpha", 0o640)
	write(t, filepath.Join(from, "sub", "b"), "beta", 0o400)
	if err := os.Symlink("sub/b", filepath.Join(from, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(from, 0o711); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		if err := os.Chown(filepath.Join(from, "a"), 7, 8); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(from, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time over the first
		if err := files.Copy(from, to); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(from, "a"), "alpha, longer or not", 0o640)
		write(t, filepath.Join(to, "a"), "something else that is even longer", 0o600)
	}
	if err := files.Copy(from, to); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(from, "pipe")); err != nil {
		t.Fatal(err)
	}
	if got, want := tree(t, to), tree(t, from); !slices.Equal(got, want) || len(got) != 5 {
		t.Errorf("%q, want %q", got, want)
	}
	if err := files.Copy(filepath.Join(from, "a"), to); err == nil {
		t.Error("a file was copied as a directory")
	}
	if err := files.Copy(filepath.Join(from, "none"), to); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestRemove(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "sub", "a"), "", 0o600)
	write(t, filepath.Join(dir, "b"), "", 0o600)
	if err := files.Remove(dir, filepath.Join(dir, "none")); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}

func TestCat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	write(t, path, "text", 0o600)
	var out bytes.Buffer
	if err := files.Cat(&out, path); err != nil || out.String() != "text" {
		t.Errorf("%q, %v", &out, err)
	}
	if err := files.Cat(&out, path+" is none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
