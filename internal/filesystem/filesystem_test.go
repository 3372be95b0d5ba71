package filesystem

import (
	"strings"
	"testing"
)

func TestFileSystemsThatDoNotLastAreNamed(t *testing.T) {
	for kind, says := range map[Type][]string{
		0x01021994: {"tmpfs", "at a reboot", "disk"},
		0x858458f6: {"ramfs", "at a reboot", "disk"},
		0x794c7630: {"overlay", "with the container", "volume"},
		0x61756673: {"aufs", "with the container", "volume"},
		0xef53:     nil, 0x58465342: nil, 0x9123683e: nil, 0x2fc12fc1: nil, Untold: nil,
	} {
		got := kind.Volatile()
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
	for kind := range volatile {
		if name, refused := kind.Refused(); refused {
			t.Errorf("type %#x is refused as %s", uint32(kind), name)
		}
	}
	seen := map[string]Type{}
	for kind, name := range refused {
		if other, twice := seen[name]; twice && kind != 0x5346414f && kind != 0x6b414653 {
			t.Errorf("types %#x and %#x are both %s", uint32(kind), uint32(other), name)
		}
		seen[name] = kind
	}
}
