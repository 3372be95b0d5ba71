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
	if dmi, err := hostOf(boot, put(t, "4c4c4544-0042-3510-8052-b3c04f4b4e32\n")); err != nil || dmi.Machine == "" {
		t.Errorf("a UUID of a DMI table: %+v, %v", dmi, err)
	}
	if h, err := hostOf(filepath.Join(t.TempDir(), "none"), put(t, "machine 1")); err != nil || h.Boot != "" || h.Machine != one.Machine {
		t.Errorf("without a boot ID: %+v, %v", h, err)
	}
}

func TestWhatTellsNoMachineFromAnotherIsNoIdentity(t *testing.T) {
	boot := put(t, "b-1")
	for _, text := range []string{
		"", "\n", "00000000-0000-0000-0000-000000000000", "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
		"20202020-2020-2020-2020-202020202020", "fefefefe-fefe-fefe-fefe-fefefefefefe", "0",
		"03000200-0400-0500-0006-000700080009\n", "00020003-0004-0005-0006-000700080009",
		"03020100-0504-0706-0809-0A0B0C0D0E0F", "10000000-0000-8000-0040-000000000000",
		"12345678-1234-5678-90AB-CDDEEFAABBCC", "8a95d198-7f46-11e5-bf8b-08002704d48e", strings.Repeat("x", maxIdentity+1),
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

func TestAMachineIDIsNoIdentity(t *testing.T) {
	boot := put(t, "b-1")
	for _, text := range []string{"0f1e2d3c4b5a69788796a5b4c3d2e1f0\n", "0f1e2d3c4b5a69788796a5b4c3d2e1f0"} {
		if h, err := hostOf(boot, put(t, text)); !errors.Is(err, ErrNoIdentity) || h != (Host{Boot: "b-1"}) || !strings.Contains(err.Error(), "/etc/machine-id") {
			t.Errorf("%q: %+v, %v, want ErrNoIdentity that names /etc/machine-id", text, h, err)
		}
	}
	for _, text := range []string{"0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0", "0F1E2D3C4B5A69788796A5B4C3D2E1F0", "i-0f1e2d3c4b5a69788", "0f1e2d3c4b5a69788796a5b4c3d2e1f0a"} {
		if h, err := hostOf(boot, put(t, text)); err != nil || h.Machine == "" {
			t.Errorf("%q: %+v, %v", text, h, err)
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
