//go:build amd64 || arm64

package vmclock

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
)

func write(t *testing.T, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "vmclock")
	must.Do(t, os.WriteFile(path, b, 0o600))
	return path
}

// change changes the file in place, as a hypervisor changes its page.
func change(t *testing.T, path string, at int64, b []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	must.Do(t, err)
	_, err = f.WriteAt(b, at)
	must.Do(t, errors.Join(err, f.Close()))
}

func TestAChangeIsSeenAtOnce(t *testing.T) {
	for name, b := range map[string][]byte{"a page": page(7), "no more than the structure": page(7)[:112]} {
		path := write(t, b)
		p, err := Open(path)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if g, ok := p.Generation(); g != 7 || !ok || p.Counter().Load() != 7 {
			t.Errorf("%s: generation %d, %v, want 7", name, g, ok)
		}
		change(t, path, 104, binary.LittleEndian.AppendUint64(nil, 1<<63|8))
		if g, ok := p.Generation(); g != 1<<63|8 || !ok || p.Counter().Load() != g {
			t.Errorf("%s: generation %#x, %v after the change", name, g, ok)
		}
		change(t, path, 25, []byte{0})
		if _, ok := p.Generation(); ok {
			t.Errorf("%s: a generation that is not shown any more is told", name)
		}
		if err := p.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatIsNoVMClockIsToldApart(t *testing.T) {
	empty := t.TempDir()
	pipe := filepath.Join(empty, "pipe")
	must.Do(t, unix.Mkfifo(pipe, 0o600))
	shared := sockettest.Dir(t)
	shut := filepath.Join(shared, "vmclock")
	must.Do(t, os.Chmod(shared, 0o755), os.WriteFile(shut, page(7), 0))
	for name, c := range map[string]struct {
		path, says string
		is         error
	}{
		"nothing":          {filepath.Join(empty, "vmclock0"), "no VMClock at ", ErrNone},
		"nothing above it": {filepath.Join(empty, "a", "b"), "no VMClock at ", ErrNone},
		"a directory":      {empty, "cannot be mapped", nil},
		"a pipe":           {pipe, "cannot be mapped", nil},
		"an empty file":    {write(t, nil), "0 bytes", nil},
		"a file too short": {write(t, page(7)[:111]), "111 bytes", nil},
		"another format":   {write(t, make([]byte, 4096)), "magic", nil},
		"a file shut to us": {shut, "KERNEL==\"vmclock0\", MODE=\"0644\"",
			fs.ErrPermission},
	} {
		var p *Page
		var err error
		if open := func() { p, err = Open(c.path) }; c.path == shut {
			sockettest.AsNobody(t, open)
		} else {
			open()
		}
		if p != nil || err == nil || !strings.Contains(err.Error(), c.says) || c.is != nil && !errors.Is(err, c.is) || c.is == nil && errors.Is(err, ErrNone) {
			t.Errorf("%s: %v, %v; want %q", name, p, err, c.says)
		}
		if err != nil && !strings.Contains(err.Error(), c.path) {
			t.Errorf("%s: %q does not name %s", name, err, c.path)
		}
	}
}
