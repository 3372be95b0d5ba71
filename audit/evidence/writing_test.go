package evidence

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

func TestWhatIsImpossibleIsNotWritten(t *testing.T) {
	dir := t.TempDir()
	l, err := OpenEvents(filepath.Join(dir, "events"))
	must(t, err)
	for _, e := range []Event{
		{},
		{Kind: kinds},
		{Kind: Issued},
		{Kind: Issued, Run: Run{First: 1, Step: 0, N: 1}},
		{Kind: Issued, Run: Run{First: 1 << 62, Step: 1 << 62, N: 3}},
		{Kind: Claimed, Worker: -1},
		{Kind: Failed, Ending: endings},
	} {
		if l.Add(e) == nil {
			t.Errorf("%+v was written", e)
		}
	}
	good := Event{At: 5, Kind: Issued, Run: Run{First: 3, Step: 1, N: 1}}
	must(t, l.Add(good))
	must(t, l.Close())
	var got []Event
	must(t, ReadEvents(filepath.Join(dir, "events"), func(e Event) error { got = append(got, e); return nil }))
	if !slices.Equal(got, []Event{good}) {
		t.Errorf("read %+v", got)
	}

	r, err := CreateReplies(filepath.Join(dir, "replies"))
	must(t, err)
	for _, bad := range []Reply{{}, {Asking: Single}, {Asking: Single, Outcome: Got, IDs: []Run{{}}}, {Asking: InRuns + 1, Outcome: Got}, {Asking: Single, Outcome: Unsent + 1}} {
		if r.Add(bad) == nil {
			t.Errorf("%+v was written", bad)
		}
	}
	must(t, r.Close())
}

// TestAWriteThatFailsIsFinal: what follows half an entry could not be read.
func TestAWriteThatFailsIsFinal(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	must(t, err)
	l := &Events{file: full}
	first := l.Add(sampleEvents()[0])
	if !errors.Is(first, syscall.ENOSPC) {
		t.Fatalf("Add: %v", first)
	}
	must(t, full.Close())
	l.file, err = os.Create(filepath.Join(t.TempDir(), "log")) // room again
	must(t, err)
	if again := l.Add(sampleEvents()[0]); again != first {
		t.Errorf("the next Add: %v", again)
	}
	must(t, l.Close())
}

func TestALogIsNotWrittenOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	must(t, os.WriteFile(path, nil, 0o600))
	if _, err := OpenEvents(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("OpenEvents: %v", err)
	}
	if _, err := CreateReplies(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("CreateReplies: %v", err)
	}
}
