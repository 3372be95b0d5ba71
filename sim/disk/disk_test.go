package disk_test

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"testing"

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
