package files_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/flakeward/flakeward/e2e/sidecar/files"
	"github.com/flakeward/flakeward/internal/need"
)

func TestFill(t *testing.T) {
	dir := t.TempDir()
	const size = 300 << 10
	if err := syscall.Mount("flakeward", dir, "tmpfs", 0, "size=300k"); err != nil {
		need.That(t, fmt.Errorf("no small file system can be mounted: %w", err))
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	other := filepath.Join(dir, "other")
	write(t, other, "12345", 0o600)
	for range 2 { // once full, it is full
		if n, err := files.Fill(dir); err != nil || n != size-4096 {
			t.Errorf("%d, %v, want %d", n, err, size-4096)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "more"), []byte("x"), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v, want a full disk", err)
	}
	for range 2 {
		if err := files.Free(dir); err != nil {
			t.Error(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "more"), make([]byte, size-2*4096), 0o600); err != nil {
		t.Errorf("what was taken is not there: %v", err)
	}
}
