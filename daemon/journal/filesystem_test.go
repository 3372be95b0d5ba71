package journal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/filesystem"
	"github.com/flakeward/flakeward/internal/must"
)

// TestFUSEIsRefusedUnlessAskedFor: and with the option no other file system is let in.
func TestFUSEIsRefusedUnlessAskedFor(t *testing.T) {
	const nfs filesystem.Type = 0x6969
	for _, tt := range []struct {
		allowed bool
		on      filesystem.Type
		open    bool
	}{{false, filesystem.FUSE, false}, {true, filesystem.FUSE, true}, {true, nfs, false}} {
		d, err := Options{FUSE: tt.allowed}.openDir(t.TempDir(), here, nil, func(*os.File) (filesystem.Type, error) { return tt.on, nil })
		if (err == nil) != tt.open {
			t.Errorf("a state directory on %#x, with FUSE allowed %v: %v", tt.on, tt.allowed, err)
		}
		if err == nil {
			must.Do(t, d.Close())
		}
	}
}

// A directory that is not there yet is refused where it would be made, and nothing is made.
func TestLookAsksWhereTheDirectoryWouldBe(t *testing.T) {
	const nfs, ext4 filesystem.Type = 0x6969, 0xef53
	base := t.TempDir()
	path := filepath.Join(base, "not", "there")
	for kind, says := range map[filesystem.Type]string{nfs: path + " is on", ext4: ""} {
		_, err := look(path, func(dir *os.File) (filesystem.Type, error) {
			if dir.Name() != base {
				t.Errorf("%s is asked about", dir.Name())
			}
			return kind, nil
		})
		if (err != nil) != (says != "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("on %#x: %v, want %q", uint32(kind), err, says)
		}
	}
	if _, err := look(filepath.Join("/dev/null", "x"), filesystem.Of); err == nil || !strings.Contains(err.Error(), "--state-dir") {
		t.Errorf("below a file: %v", err)
	}
	if left, err := os.ReadDir(base); err != nil || len(left) != 0 {
		t.Errorf("it left %v, %v", left, err)
	}
}
