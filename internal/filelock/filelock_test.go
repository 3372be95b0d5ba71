package filelock

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

// One handle has the lock until it is closed; the next is told whose process that is.
func TestOneHandleHasTheLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f := must.Get(os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600))(t)
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	must.Do(t, os.WriteFile(path, []byte("77\nof before, which is a longer text\n"), 0o600))
	first, second := open(), open()
	if before, err := Lock(first, "of the first"); err != nil || before != "of before, which is a longer text" {
		t.Fatalf("after the note %q: %v", before, err)
	}
	var held *HeldError
	if _, err := Lock(second, "of the second"); !errors.As(err, &held) || held.PID != 0 {
		t.Errorf("the second handle: %v, want no number, as it is this process's own", err)
	}
	must.Do(t, os.WriteFile(path, []byte("77\nof the first\n"), 0o600))
	if _, err := Lock(second, "of the second"); !errors.As(err, &held) || held.PID != 77 {
		t.Errorf("the second handle: %v, want that process 77 holds the lock", err)
	}
	must.Do(t, first.Close())
	if before, err := Lock(second, "of the second"); err != nil || before != "of the first" {
		t.Errorf("after the first was closed, and its note %q: %v", before, err)
	}
}
