package journal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

func TestFileSystemsThatDoNotLastAreNamed(t *testing.T) {
	for kind, says := range map[fileSystemType][]string{
		0x01021994: {"tmpfs", "at a reboot", "disk"},
		0x858458f6: {"ramfs", "at a reboot", "disk"},
		0x794c7630: {"overlay", "with the container", "volume"},
		0x61756673: {"aufs", "with the container", "volume"},
		0xef53:     nil, 0x58465342: nil, 0x9123683e: nil, 0x2fc12fc1: nil, untold: nil,
	} {
		got := kind.volatile()
		if (got == "") != (says == nil) {
			t.Errorf("type %#x: %q", uint32(kind), got)
		}
		for _, text := range says {
			if !strings.Contains(got, text) {
				t.Errorf("type %#x: %q does not say %q", uint32(kind), got, text)
			}
		}
	}
}

// What is refused is not warned of as well, and a name says what the type is called.
func TestNoFileSystemIsBothRefusedAndVolatile(t *testing.T) {
	for kind := range volatileFileSystems {
		if name, refused := kind.refused(); refused {
			t.Errorf("type %#x is refused as %s", uint32(kind), name)
		}
	}
	seen := map[string]fileSystemType{}
	for kind, name := range refusedFileSystems {
		if other, twice := seen[name]; twice && kind != 0x5346414f && kind != 0x6b414653 {
			t.Errorf("types %#x and %#x are both %s", uint32(kind), uint32(other), name)
		}
		seen[name] = kind
	}
}

// TestFUSEIsRefusedUnlessAskedFor: and with the option no other file system is let in.
func TestFUSEIsRefusedUnlessAskedFor(t *testing.T) {
	const nfs fileSystemType = 0x6969
	for _, tt := range []struct {
		allowed bool
		on      fileSystemType
		open    bool
	}{{false, fuse, false}, {true, fuse, true}, {true, nfs, false}} {
		d, err := Options{FUSE: tt.allowed}.openDir(t.TempDir(), here, nil, func(*os.File) (fileSystemType, error) { return tt.on, nil })
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
	const nfs, ext4 fileSystemType = 0x6969, 0xef53
	base := t.TempDir()
	path := filepath.Join(base, "not", "there")
	for kind, says := range map[fileSystemType]string{nfs: path + " is on", ext4: ""} {
		_, err := look(path, func(dir *os.File) (fileSystemType, error) {
			if dir.Name() != base {
				t.Errorf("%s is asked about", dir.Name())
			}
			return kind, nil
		})
		if (err != nil) != (says != "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("on %#x: %v, want %q", uint32(kind), err, says)
		}
	}
	if _, err := look(filepath.Join("/dev/null", "x"), fileSystemOf); err == nil || !strings.Contains(err.Error(), "--state-dir") {
		t.Errorf("below a file: %v", err)
	}
	if left, err := os.ReadDir(base); err != nil || len(left) != 0 {
		t.Errorf("it left %v, %v", left, err)
	}
}
