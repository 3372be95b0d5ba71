package evidence

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

// TestAWriteThatFailsIsFinal: what follows half an entry could not be read.
func TestAWriteThatFailsIsFinal(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	must.Do(t, err)
	l := &Events{file: full}
	first := l.Add(sampleEvents()[0])
	if !errors.Is(first, syscall.ENOSPC) {
		t.Fatalf("Add: %v", first)
	}
	must.Do(t, full.Close())
	l.file, err = os.Create(filepath.Join(t.TempDir(), "log")) // room again
	must.Do(t, err)
	if again := l.Add(sampleEvents()[0]); again != first {
		t.Errorf("the next Add: %v", again)
	}
	must.Do(t, l.Close())
}

func TestALogIsNotWrittenOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	must.Do(t, os.WriteFile(path, nil, 0o600))
	if _, err := OpenEvents(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("OpenEvents: %v", err)
	}
	if _, err := CreateReplies(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("CreateReplies: %v", err)
	}
}
