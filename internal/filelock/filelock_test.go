package filelock

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// One handle has the lock until it is closed; the next is told whose process that is.
func TestOneHandleHasTheLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	if err := os.WriteFile(path, []byte("a longer text than a number of before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	first, second := open(), open()
	if err := Lock(first); err != nil {
		t.Fatal(err)
	}
	var held *HeldError
	if err := Lock(second); !errors.As(err, &held) || held.PID != os.Getpid() {
		t.Errorf("the second handle: %v, want that process %d holds the lock", err, os.Getpid())
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Lock(second); err != nil {
		t.Errorf("after the first was closed: %v", err)
	}
}
