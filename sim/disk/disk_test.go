package disk_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/daemon/place"
	"github.com/flakeward/flakeward/sim/disk"
)

// steps takes the steps of a write up to one of them, and returns the first that fails.
func steps(d *disk.Disk, text string, at int64, upTo disk.Step) (failed disk.Step) {
	for _, step := range []struct {
		is disk.Step
		do func() error
	}{
		{disk.StepOpen, func() error { _, err := d.Open(); return err }},
		{disk.StepWrite, func() error { return d.WriteAt([]byte(text), at) }},
		{disk.StepSync, d.Sync},
	} {
		if step.do() != nil {
			return step.is
		}
		if step.is == upTo {
			break
		}
	}
	return ""
}

func write(t *testing.T, d *disk.Disk, text string, at int64, upTo disk.Step) {
	t.Helper()
	if failed := steps(d, text, at, upTo); failed != "" {
		t.Fatalf("%s failed", failed)
	}
}

func calm() *disk.Disk { return &disk.Disk{Step: func(disk.Step) error { return nil }} }

func TestPowerCutLosesOnlyWhatWasNotSynced(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(400) {
		d := calm()
		if _, err := d.Read(); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("a new disk: %v", err)
		}
		write(t, d, "aabb", 0, disk.StepSync)
		write(t, d, "cc", 2, disk.StepWrite)
		if now, err := d.Read(); string(now) != "aacc" || err != nil {
			t.Fatalf("the process reads %q, %v", now, err)
		}
		d.PowerCut(rand.New(rand.NewPCG(seed, 0)))
		left, err := d.Read()
		if err != nil || string(left[:2]) != "aa" {
			t.Fatalf("what was synced is lost: %q, %v", left, err)
		}
		seen[string(left)] = true
	}
	for _, text := range []string{"aabb", "aacc", "aacb", "aabc"} {
		if !seen[text] {
			t.Errorf("never %q after the power cut: %v", text, seen)
		}
		delete(seen, text)
	}
	if len(seen) > 0 {
		t.Errorf("%v was never written", seen)
	}
	d := calm()
	write(t, d, "old", 0, disk.StepSync)
	write(t, d, "new", 0, disk.StepSync)
	d.PowerCut(rand.New(rand.NewPCG(1, 0)))
	if left, err := d.Read(); string(left) != "new" || err != nil {
		t.Errorf("after a sync and a power cut: %q, %v", left, err)
	}
}

// Two writes that were not synced survive each by itself.
func TestWritesSurviveAPowerCutEachByItself(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(200) {
		d := calm()
		write(t, d, "..", 0, disk.StepSync)
		write(t, d, "a", 0, disk.StepWrite)
		write(t, d, "b", 1, disk.StepWrite)
		d.PowerCut(rand.New(rand.NewPCG(seed, 0)))
		left, _ := d.Read()
		seen[string(left)] = true
	}
	for _, text := range []string{"..", "a.", ".b", "ab"} {
		if !seen[text] {
			t.Errorf("never %q: %v", text, seen)
		}
	}
}

// A step that is told to fail fails, and no other. What it would have done is done only if it is to
// be done anyway.
func TestOneStepFails(t *testing.T) {
	for _, step := range []disk.Step{disk.StepOpen, disk.StepWrite, disk.StepSync} {
		d := calm()
		d.FailsAt = step
		if failed := steps(d, "new", 0, ""); failed != "" {
			t.Errorf("nothing is to fail, and %s does", failed)
		}
		d.Lose()
		if d.Failing = true; steps(d, "new", 0, "") != step {
			t.Errorf("%s is to fail, and does not", step)
		}
	}
	for anyway, possible := range map[bool]int{false: 5, true: 1} {
		seen := map[string]bool{}
		for seed := range uint64(400) {
			d := calm()
			d.FailsAt, d.Anyway = disk.StepSync, anyway
			write(t, d, "old", 0, disk.StepSync)
			d.Failing = true
			steps(d, "new", 0, "")
			d.PowerCut(rand.New(rand.NewPCG(seed, 0)))
			left, err := d.Read()
			if err != nil {
				t.Fatal(err)
			}
			seen[string(left)] = true
		}
		if len(seen) < min(2, possible) || anyway && len(seen) != 1 || !seen["new"] {
			t.Errorf("the sync fails, and is done anyway: %v; a power cut leaves %v", anyway, seen)
		}
	}
}

// A full disk lets no file grow, and takes what is written into one.
func TestAFullDiskTakesWhatNeedsNoRoom(t *testing.T) {
	d := calm()
	write(t, d, "as long as it will be", 0, disk.StepSync)
	d.Full = true
	write(t, d, "AS", 0, disk.StepSync)
	if err := d.WriteAt([]byte("more than there is"), 10); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a write beyond the end of the file: %v, want ENOSPC", err)
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

// Old contents are those after each sync, whatever became of the file between them.
func TestCopiesAreWhatWasSynced(t *testing.T) {
	d := calm()
	var want []string
	for i := range 40 {
		text := fmt.Sprintf("%02d", i)
		write(t, d, text, int64(i%3), disk.StepSync)
		if i%7 == 0 {
			write(t, d, "lost?", 0, disk.StepWrite)
			d.PowerCut(rand.New(rand.NewPCG(uint64(i), 0)))
		}
		if i%11 == 0 {
			d.Put([]byte("put"))
		}
		now, _ := d.Read()
		write(t, d, "x", int64(len(now)), disk.StepSync)
		want = append(want, string(now)+"x")
	}
	if d.Copies() != 24 {
		t.Fatalf("%d copies", d.Copies())
	}
	for i := 1; i < d.Copies(); i += 2 {
		if c := d.Copy(i); string(c) != want[len(want)-12+i/2] {
			t.Errorf("copy %d is %q, want %q", i, c, want[len(want)-12+i/2])
		}
	}
}

// A file that is renamed into the journal's place is what the next start finds. Whoever has the
// other one open is told, and writes where nobody reads.
func TestAFileInTheJournalsPlace(t *testing.T) {
	d := calm()
	write(t, d, "old", 0, disk.StepSync)
	known := place.File{Device: 1, Inode: 7}
	d.Replace([]byte("other"), known, 1)
	write(t, d, "new", 0, disk.StepSync)
	if err := d.Ours(); !errors.Is(err, journal.ErrMoved) {
		t.Errorf("it is ours: %v", err)
	}
	if here, _ := d.Place(); here.Journal == known {
		t.Error("what is open is the other file")
	}
	for _, replaced := range []bool{true, false} {
		if got := d.Reopen(); got != replaced || d.Ours() != nil {
			t.Errorf("opened again: replaced %v, want %v", got, replaced)
		}
		if now, err := d.Read(); string(now) != "other" || err != nil || d.Where.Journal != known {
			t.Errorf("it reads %q, %v, at %+v", now, err, d.Where)
		}
	}
}
