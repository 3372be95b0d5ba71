package disk_test

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/sim/disk"
)

// write replaces the journal up to a step, as daemon/journal does.
func write(t *testing.T, d *disk.Disk, text string, upTo disk.Step) {
	t.Helper()
	f, err := d.OpenTemp()
	if err == nil {
		_, err = f.Write([]byte(text))
	}
	for _, step := range []struct {
		is disk.Step
		do func() error
	}{{disk.StepSync, f.Sync}, {disk.StepRename, d.Rename}, {disk.StepDir, d.SyncDir}} {
		if err == nil {
			err = step.do()
		}
		if err != nil {
			t.Fatal(err)
		}
		if step.is == upTo {
			return
		}
	}
}

func TestPowerCutLosesOnlyWhatWasNotSynced(t *testing.T) {
	for upTo, possible := range map[disk.Step][]string{
		disk.StepSync:   {"old"},
		disk.StepRename: {"old", "new"},
		disk.StepDir:    {"new"},
	} {
		seen := map[string]bool{}
		for seed := range uint64(50) {
			d := &disk.Disk{Step: func(disk.Step) error { return nil }}
			if _, err := d.Read(); !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("a new disk: %v", err)
			}
			write(t, d, "old", disk.StepDir)
			write(t, d, "new", upTo)
			d.PowerCut(rand.New(rand.NewPCG(seed, 0)))
			left, err := d.Read()
			if err != nil {
				t.Fatal(err)
			}
			seen[string(left)] = true
		}
		if len(seen) != len(possible) {
			t.Errorf("up to %s: %v is left, want %v", upTo, seen, possible)
		}
		for _, text := range possible {
			if !seen[text] {
				t.Errorf("up to %s: never %q", upTo, text)
			}
		}
	}
}

// A step that is told to fail fails, and no other. What it would have done is done only if it is to be done anyway.
func TestOneStepFails(t *testing.T) {
	replace := func(d *disk.Disk) (failed disk.Step) {
		f, err := d.OpenTemp()
		if err != nil {
			return disk.StepOpen
		}
		if _, err := f.Write([]byte("new")); err != nil {
			return disk.StepWrite
		}
		for _, step := range []struct {
			is disk.Step
			do func() error
		}{{disk.StepSync, f.Sync}, {disk.StepRename, d.Rename}, {disk.StepDir, d.SyncDir}} {
			if err := step.do(); err != nil {
				return step.is
			}
		}
		return ""
	}
	for _, step := range []disk.Step{disk.StepOpen, disk.StepWrite, disk.StepSync, disk.StepRename, disk.StepDir} {
		d := &disk.Disk{Step: func(disk.Step) error { return nil }, FailsAt: step}
		if failed := replace(d); failed != "" {
			t.Errorf("nothing is to fail, and %s does", failed)
		}
		if d.Failing = true; replace(d) != step {
			t.Errorf("%s is to fail, and does not", step)
		}
	}
	for anyway, possible := range map[bool]int{false: 2, true: 1} {
		seen := map[string]bool{}
		for seed := range uint64(50) {
			d := &disk.Disk{Step: func(disk.Step) error { return nil }, FailsAt: disk.StepDir, Anyway: anyway}
			write(t, d, "old", disk.StepDir)
			d.Failing = true
			replace(d)
			d.PowerCut(rand.New(rand.NewPCG(seed, 0)))
			left, err := d.Read()
			if err != nil {
				t.Fatal(err)
			}
			seen[string(left)] = true
		}
		if len(seen) != possible || !seen["new"] {
			t.Errorf("the sync of the directory fails, and is done anyway: %v; a power cut leaves %v", anyway, seen)
		}
	}
}

func TestRenameThatFailsIsDoneAnyway(t *testing.T) {
	for anyway, left := range map[bool]string{false: "old", true: "new"} {
		d := &disk.Disk{Step: func(disk.Step) error { return nil }, FailsAt: disk.StepRename, Anyway: anyway}
		write(t, d, "old", disk.StepDir)
		f, err := d.OpenTemp()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte("new")); err != nil {
			t.Fatal(err)
		}
		if d.Failing = true; d.Rename() == nil {
			t.Error("the rename is to fail, and does not")
		}
		if found, err := d.Read(); string(found) != left || err != nil {
			t.Errorf("the rename fails, and is done anyway: %v; there is %q, %v", anyway, found, err)
		}
	}
}

func TestWhatIsLeftCannotBeRemoved(t *testing.T) {
	d := &disk.Disk{Step: func(disk.Step) error { return nil }, Failing: true, Errno: syscall.EROFS}
	if err := d.RemoveTemp(); err != nil {
		t.Error(err)
	}
	if d.Stuck = true; !errors.Is(d.RemoveTemp(), syscall.EROFS) {
		t.Error("what is stuck was removed")
	}
}

func TestPathLeadsElsewhere(t *testing.T) {
	d := &disk.Disk{Moved: 2}
	for look, ours := range []bool{true, false, false} {
		if err := d.Ours(); (err == nil) != ours || err != nil && !errors.Is(err, journal.ErrMoved) {
			t.Errorf("look %d: %v", look+1, err)
		}
	}
}
