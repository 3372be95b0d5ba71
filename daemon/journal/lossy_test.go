//go:build drill

package journal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/flakeward/flakeward/generator"
)

// openLossy opens path with a lossy disk whose time is what now points to.
func openLossy(t *testing.T, path string, now *time.Duration) (*Dir, *lossyDisk) {
	t.Helper()
	t.Setenv(DiskVariable, "lossy")
	d := open(t, path)
	lossy, ok := d.disk.(*lossyDisk)
	if !ok {
		t.Fatalf("$%s gave a %T", DiskVariable, d.disk)
	}
	lossy.now = func() time.Duration { return *now }
	return d, lossy
}

// kill ends d as a power cut does and opens what it left.
func kill(t *testing.T, d *Dir) *Dir {
	t.Helper()
	must(t, d.Close())
	return open(t, d.Path())
}

// TestDrillALossyDiskKeepsWhatWasAcknowledged: the real order of steps survives each power cut at once.
func TestDrillALossyDiskKeepsWhatWasAcknowledged(t *testing.T) {
	now := time.Duration(0)
	d, _ := openLossy(t, t.TempDir(), &now)
	for mark := range generator.Tick(5) {
		write(t, d, contents(mark))
		wantRead(t, d, contents(mark))
		d = kill(t, d)
		wantRead(t, d, contents(mark))
	}
}

// unsyncedDisk is a disk on which the sync is left out.
type unsyncedDisk struct{ Disk }

func (unsyncedDisk) Sync() error { return nil }

// TestDrillALossyDiskLosesWhatWasNotSynced: with the sync left out an older journal comes back, a whole one: the newest
// that was there for the time of the write-back when the disk was last used.
func TestDrillALossyDiskLosesWhatWasNotSynced(t *testing.T) {
	now := time.Duration(0)
	d, lossy := openLossy(t, t.TempDir(), &now)
	d.disk = unsyncedDisk{lossy}
	for second := range generator.Tick(3) {
		now = time.Duration(second) * time.Second
		write(t, d, contents(second))
	}
	wantRead(t, d, contents(2)) // the process sees its own
	d = kill(t, d)
	if _, err := d.Read(); !errors.Is(err, ErrNone) {
		t.Fatalf("Read: %v: something unsynced was there at once", err)
	}

	now = 0
	d, lossy = openLossy(t, t.TempDir(), &now)
	d.disk = unsyncedDisk{lossy}
	for second := range generator.Tick(11) {
		now = time.Duration(second) * time.Second
		write(t, d, contents(second))
	}
	wantRead(t, d, contents(10))
	wantRead(t, kill(t, d), contents(7))
}

// TestDrillALossyDiskIsADisk: whatever is done to it and whenever the power is cut, what comes back is the last journal that was
// synced or a later one, as a whole.
func TestDrillALossyDiskIsADisk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Duration(0)
		below := newMemory()
		lossy := &lossyDisk{Disk: below, now: func() time.Duration { return now }, writeBack: defaultWriteBack}
		newest, durable := 0, 0
		d := On("/elsewhere", lossy)
		for i := 1; i <= 12; i++ {
			now += time.Duration(rapid.IntRange(0, 2000).Draw(t, "ms")) * time.Millisecond
			d.disk = lossy
			synced := rapid.Bool().Draw(t, "synced")
			if !synced {
				d.disk = unsyncedDisk{lossy}
			}
			if err := d.Write(contents(generator.Tick(i))); err != nil {
				t.Fatal(err)
			}
			if newest = i; synced {
				durable = i
			}
		}
		if c, err := On("/elsewhere", lossy).Read(); err != nil || int(c.Lanes[0].Mark) != newest {
			t.Fatalf("the process reads %+v, %v, want %d", c, err, newest)
		}
		c, err := On("/elsewhere", below).Read()
		switch {
		case errors.Is(err, ErrNone) && durable == 0:
		case err != nil || int(c.Lanes[0].Mark) < durable || int(c.Lanes[0].Mark) > newest:
			t.Fatalf("after the power cut: %+v, %v, want %d to %d", c, err, durable, newest)
		}
	})
}

// TestDrillALossyDiskThatFails: a Write that could not reach the disk below fails, and goes through once that works.
func TestDrillALossyDiskThatFails(t *testing.T) {
	now := time.Duration(0)
	d, lossy := openLossy(t, t.TempDir(), &now)
	write(t, d, contents(1))
	healthy := lossy.Disk
	lossy.Disk = failingDisk{healthy}
	for mark := range generator.Tick(3) {
		if err := d.Write(contents(2 + mark)); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "free space") {
			t.Fatalf("Write: %v", err)
		}
	}
	lossy.Disk = healthy
	write(t, d, contents(9))
	wantRead(t, kill(t, d), contents(9))
}

// failingDisk takes nothing at all.
type failingDisk struct{ Disk }

func (failingDisk) WriteAt([]byte, int64) error { return syscall.ENOSPC }

func TestDrillTheDiskOfADrill(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 0, "lossy": defaultWriteBack, "lossy/250ms": 250 * time.Millisecond, "lossy/": -1, "lossy/0s": -1, "/3s": -1, "tape": -1} {
		t.Setenv(DiskVariable, text)
		d, err := OpenDir(filepath.Join(t.TempDir(), "state"), here)
		if want < 0 {
			if err == nil || !strings.Contains(err.Error(), DiskVariable) {
				t.Errorf("%q: %v, want the variable named", text, err)
			}
			continue
		}
		must(t, err)
		lossy, ok := d.disk.(*lossyDisk)
		if ok != (want > 0) || ok && lossy.writeBack != want {
			t.Errorf("%q gave %+v", text, d.disk)
		}
		must(t, d.Close())
	}
	if _, err := os.Stat("/proc/self"); err == nil && monotonic() <= 0 {
		t.Error("there is no monotonic time")
	}
}

// TestDrillEachLaneHasALossyDiskOfItsOwn: what one lane syncs makes nothing of another's durable.
func TestDrillEachLaneHasALossyDiskOfItsOwn(t *testing.T) {
	now := time.Duration(0)
	d, _ := openLossy(t, t.TempDir(), &now)
	other, err := d.Lane(1)
	must(t, err)
	lossy, ok := other.disk.(*lossyDisk)
	if !ok || lossy == d.disk {
		t.Fatalf("lane 1 has the disk %T, shared %v", other.disk, lossy == d.disk)
	}
	lossy.now = func() time.Duration { return now }
	must(t, other.Write(contents(1)))
	other.disk = unsyncedDisk{lossy}
	must(t, other.Write(contents(2)))
	write(t, d, contents(3))
	d = kill(t, d)
	wantRead(t, d, contents(3))
	wantLane(t, d, 1, contents(1))
}

// A drill build refuses FUSE as any build does, unless it is told that this is its disk.
func TestDrillAStateDirectoryOnFUSE(t *testing.T) {
	const fuse, nfs = fileSystemType(unix.FUSE_SUPER_MAGIC), fileSystemType(unix.NFS_SUPER_MAGIC)
	for _, tt := range []struct {
		disk string
		on   fileSystemType
		open bool
	}{{"", fuse, false}, {"lossy", fuse, false}, {"fuse", fuse, true}, {"fuse", nfs, false}} {
		t.Setenv(DiskVariable, tt.disk)
		d, err := openDir(t.TempDir(), here, func(*os.File) (fileSystemType, error) { return tt.on, nil })
		if (err == nil) != tt.open {
			t.Errorf("$%s=%s: a state directory on %#x: %v", DiskVariable, tt.disk, tt.on, err)
		}
		if err == nil {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
