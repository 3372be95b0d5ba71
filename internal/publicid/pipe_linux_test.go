package publicid

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A named pipe gives its keys once. Who reads it again, as at a SIGHUP, does not wait for somebody to
// write: the daemon could not be ended then.
func TestAPipeThatNobodyWritesToIsNotWaitedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(path); err == nil {
		t.Error("keys came out of an empty pipe")
	}
}
