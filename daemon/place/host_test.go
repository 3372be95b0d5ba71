package place

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

func put(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestAHostIsKnownByItsBootAndItsIdentity(t *testing.T) {
	boot := put(t, "  b-1\n")
	one, err := hostOf(boot, put(t, "machine 1\n"))
	if err != nil || one.Boot != "b-1" || len(one.Machine) != 32 || strings.Contains(one.Machine, "machine") {
		t.Fatalf("%+v, %v", one, err)
	}
	if same, err := hostOf(boot, put(t, "\tmachine 1")); err != nil || same != one {
		t.Errorf("white space makes another machine: %+v, %v", same, err)
	}
	if other, err := hostOf(boot, put(t, "machine 2\n")); err != nil || other.Machine == one.Machine {
		t.Errorf("another identity gives %+v, %v", other, err)
	}
	if h, err := hostOf(filepath.Join(t.TempDir(), "none"), put(t, "machine 1")); err != nil || h.Boot != "" || h.Machine != one.Machine {
		t.Errorf("without a boot ID: %+v, %v", h, err)
	}
}

func TestWhatTellsNoMachineFromAnotherIsNoIdentity(t *testing.T) {
	boot := put(t, "b-1")
	for _, text := range []string{
		"", "\n", "00000000-0000-0000-0000-000000000000", "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
		"03000200-0400-0500-0006-000700080009\n", strings.Repeat("x", maxIdentity+1),
	} {
		h, err := hostOf(boot, put(t, text))
		if !errors.Is(err, ErrNoIdentity) || h != (Host{Boot: "b-1"}) {
			t.Errorf("%.20q: %+v, %v, want ErrNoIdentity and the boot ID", text, h, err)
		}
	}
	for _, path := range []string{filepath.Join(t.TempDir(), "none"), t.TempDir(), "/dev/null"} {
		if h, err := hostOf(boot, path); !errors.Is(err, ErrNoIdentity) || h.Machine != "" || h.Boot != "b-1" {
			t.Errorf("%s: %+v, %v, want ErrNoIdentity and the boot ID", path, h, err)
		}
	}
}

// Of reports other files as others, also where one has the number that the other had.
func TestAFileIsKnownByItsInodeAndItsGeneration(t *testing.T) {
	path := put(t, "x")
	of := func() File {
		t.Helper()
		f := must.Get(os.Open(path))(t)
		defer f.Close()
		known, err := Of(f)
		if err != nil || known.Device == 0 || known.Inode == 0 {
			t.Fatalf("%+v, %v", known, err)
		}
		return known
	}
	first := of()
	if again := of(); again != first {
		t.Errorf("the same file is %+v and %+v", first, again)
	}
	must.Do(t, os.WriteFile(path, []byte("other"), 0o600))
	if again := of(); again != first {
		t.Errorf("written in place, it is %+v and %+v", first, again)
	}
	for range 100 { // most file systems soon use an inode's number again
		must.Do(t, os.Remove(path))
		must.Do(t, os.WriteFile(path, []byte("x"), 0o600))
		if other := of(); other == first {
			t.Fatalf("a file made anew is known as the one before: %+v", other)
		}
	}
}
