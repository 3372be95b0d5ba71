package inject

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/daemon/place"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/fault"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func contents(mark generator.Tick) journal.Contents {
	return journal.Contents{
		Cluster: "6f1c", Coord: "dir:", Layout: "time=41@1ms,worker=10,sequence=12;epoch=2020-01-01T00:00:00Z",
		Entries: []journal.Entry{{Worker: 0, Opening: "o-1", Claim: "claims/c-7", Mark: mark}},
	}
}

// testDisk is a volatile disk on which the sync can be left out.
type testDisk struct {
	*volatileDisk
	unsynced bool
}

func (d *testDisk) Sync() error {
	if d.unsynced {
		return nil
	}
	return d.volatileDisk.Sync()
}

// tested is a state directory on volatile disks, one for each lane that was opened, in that order.
type tested struct {
	*journal.Dir
	disks []*testDisk
}

// volatile opens path with volatile disks whose time is what now points to.
func volatile(t *testing.T, path string, now *time.Duration) *tested {
	t.Helper()
	o, err := parseDisk("volatile")
	must(t, err)
	var dir tested
	disk := o.Disk
	o.Disk = func(d journal.Disk) journal.Disk {
		made := &testDisk{volatileDisk: disk(d).(*volatileDisk)}
		made.now = func() time.Duration { return *now }
		dir.disks = append(dir.disks, made)
		return made
	}
	dir.Dir, err = o.OpenDir(path, place.Host{Boot: "boot"})
	must(t, err)
	t.Cleanup(func() { dir.Close() })
	return &dir
}

// kill ends d as a power cut does and opens what it left.
func kill(t *testing.T, d *tested, now *time.Duration) *tested {
	t.Helper()
	must(t, d.Close())
	return volatile(t, d.Path(), now)
}

func wantMark(t *testing.T, f *journal.File, mark generator.Tick) {
	t.Helper()
	if c, err := f.Read(); err != nil || len(c.Entries) != 1 || c.Entries[0].Mark != mark {
		t.Fatalf("Read: %+v, %v, want the mark %d", c, err, mark)
	}
}

// TestAVolatileDiskKeepsWhatWasAcknowledged: the real order of steps survives each power cut at once.
func TestAVolatileDiskKeepsWhatWasAcknowledged(t *testing.T) {
	now := time.Duration(0)
	d := volatile(t, t.TempDir(), &now)
	for mark := range generator.Tick(5) {
		must(t, d.Write(contents(mark)))
		wantMark(t, d.File, mark)
		d = kill(t, d, &now)
		wantMark(t, d.File, mark)
	}
}

// TestAVolatileDiskLosesWhatWasNotSynced: with the sync left out an older journal comes back, a whole
// one: the newest that was there for the time of the write-back when the disk was last used.
func TestAVolatileDiskLosesWhatWasNotSynced(t *testing.T) {
	for seconds, kept := range map[int]generator.Tick{3: -1, 11: 7} {
		now := time.Duration(0)
		d := volatile(t, t.TempDir(), &now)
		d.disks[0].unsynced = true
		for second := range seconds {
			now = time.Duration(second) * time.Second
			must(t, d.Write(contents(generator.Tick(second))))
		}
		wantMark(t, d.File, generator.Tick(seconds-1)) // the process sees its own
		d = kill(t, d, &now)
		if kept >= 0 {
			wantMark(t, d.File, kept)
		} else if _, err := d.Read(); !errors.Is(err, journal.ErrNone) {
			t.Fatalf("Read: %v: something unsynced was there at once", err)
		}
	}
}

// memory is a disk that keeps everything.
type memory struct {
	journal.Disk
	there bool
	data  []byte
}

func (m *memory) Read() ([]byte, error) {
	if !m.there {
		return nil, fs.ErrNotExist
	}
	return bytes.Clone(m.data), nil
}
func (m *memory) Open() (int64, error) { m.there = true; return int64(len(m.data)), nil }
func (m *memory) WriteAt(data []byte, at int64) error {
	m.data = append(m.data, make([]byte, max(0, int(at)+len(data)-len(m.data)))...)
	copy(m.data[at:], data)
	return nil
}
func (*memory) Sync() error                 { return nil }
func (*memory) Ours() error                 { return nil }
func (*memory) Place() (place.Place, error) { return place.Place{}, nil }

// TestAVolatileDiskIsADisk: whatever is done to it and whenever the power is cut, what comes back is
// the last journal that was synced or a later one, as a whole.
func TestAVolatileDiskIsADisk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Duration(0)
		below := &memory{}
		disk := &testDisk{volatileDisk: &volatileDisk{Disk: below, now: func() time.Duration { return now }, writeBack: defaultWriteBack}}
		newest, durable := 0, 0
		d := journal.On("/elsewhere", disk)
		for i := 1; i <= 12; i++ {
			now += time.Duration(rapid.IntRange(0, 2000).Draw(t, "ms")) * time.Millisecond
			synced := rapid.Bool().Draw(t, "synced")
			disk.unsynced = !synced
			if err := d.Write(contents(generator.Tick(i))); err != nil {
				t.Fatal(err)
			}
			if newest = i; synced {
				durable = i
			}
		}
		if c, err := journal.On("/elsewhere", disk).Read(); err != nil || int(c.Entries[0].Mark) != newest {
			t.Fatalf("the process reads %+v, %v, want %d", c, err, newest)
		}
		c, err := journal.On("/elsewhere", below).Read()
		switch {
		case errors.Is(err, journal.ErrNone) && durable == 0:
		case err != nil || int(c.Entries[0].Mark) < durable || int(c.Entries[0].Mark) > newest:
			t.Fatalf("after the power cut: %+v, %v, want %d to %d", c, err, durable, newest)
		}
	})
}

// TestAVolatileDiskThatFails: a Write that could not reach the disk below fails, and goes through once
// that works.
func TestAVolatileDiskThatFails(t *testing.T) {
	now := time.Duration(0)
	d := volatile(t, t.TempDir(), &now)
	must(t, d.Write(contents(1)))
	disk := d.disks[0]
	healthy := disk.Disk
	disk.Disk = failingDisk{healthy}
	for mark := range generator.Tick(3) {
		if err := d.Write(contents(2 + mark)); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "free space") {
			t.Fatalf("Write: %v", err)
		}
	}
	disk.Disk = healthy
	must(t, d.Write(contents(9)))
	wantMark(t, kill(t, d, &now).File, 9)
}

// failingDisk takes nothing at all.
type failingDisk struct{ journal.Disk }

func (failingDisk) WriteAt([]byte, int64) error { return syscall.ENOSPC }

func TestTheDiskOfADrill(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 0, "fuse": 0, "volatile": defaultWriteBack, "volatile/250ms": 250 * time.Millisecond, "volatile/": -1, "volatile/0s": -1, "/3s": -1, "tape": -1} {
		o, err := parseDisk(text)
		if want < 0 {
			if err == nil || !strings.Contains(err.Error(), fault.Disk) {
				t.Errorf("%q: %v, want the variable named", text, err)
			}
			continue
		}
		must(t, err)
		if (o.Disk != nil) != (want > 0) || o.FUSE != (text == "fuse") || want > 0 && o.Disk(nil).(*volatileDisk).writeBack != want {
			t.Errorf("%q gave %+v", text, o)
		}
	}
	if monotonic() <= 0 {
		t.Error("there is no monotonic time")
	}
}
