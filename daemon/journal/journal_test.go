package journal

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/daemon/place"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/filesystem"
	"github.com/flakeward/flakeward/internal/must"
)

// contents returns a journal that differs from those of other marks, in length
// too.
func contents(mark generator.Tick) Contents {
	return Contents{
		Cluster: "6f1c", Coord: "dir:", Layout: "time=41@1ms,worker=10,sequence=12;epoch=2020-01-01T00:00:00Z",
		Entries: []Entry{
			{Worker: 0, Opening: "o-1", Claim: "claims/c-7", Mark: mark},
			{Worker: 1023, Opening: "o-2 <&>", Mark: 1<<62 + mark},
		},
	}
}

// here is the host of the tests.
var here = place.Host{Boot: "boot", Machine: "machine"}

func open(t *testing.T, path string) *Dir {
	t.Helper()
	d := must.Get(OpenDir(path, here))(t)
	t.Cleanup(func() { d.Close() })
	return d
}

func write(t *testing.T, d *Dir, c Contents) {
	t.Helper()
	must.Do(t, d.Write(c))
}

func wantRead(t *testing.T, d *Dir, want Contents) {
	t.Helper()
	wantContents(t, d.File, want)
}

// wantContents wants a journal that says what is wanted, and was written where it lies.
func wantContents(t *testing.T, f *File, want Contents) {
	t.Helper()
	got, err := f.Read()
	if err != nil {
		t.Fatalf("Read(): %v, want %+v", err, want)
	}
	if why, err := f.Elsewhere(got); err != nil || why != "" {
		t.Fatalf("the journal was written elsewhere: %s, %v", why, err)
	}
	if got.Place = (place.Place{}); !reflect.DeepEqual(got, want) {
		t.Fatalf("Read() = %+v, want %+v", got, want)
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "state")
	d := open(t, path)
	if _, err := d.Read(); !errors.Is(err, ErrNone) {
		t.Fatalf("Read() of a new directory: %v, want ErrNone", err)
	}
	for mark := range generator.Tick(3) {
		write(t, d, contents(mark))
		wantRead(t, d, contents(mark))
	}
	must.Do(t, d.Close())
	wantRead(t, open(t, path), contents(2))

	// No lanes at all have one spelling.
	d = open(t, filepath.Join(t.TempDir(), "s"))
	write(t, d, Contents{})
	wantRead(t, d, Contents{Entries: []Entry{}})
}

func TestTheDirectoryAndItsFilesAreTheUsersOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	write(t, open(t, path), contents(1))
	for name, want := range map[string]os.FileMode{".": os.ModeDir | 0o700, lockName: 0o600, journalName: 0o600} {
		info, err := os.Lstat(filepath.Join(path, name))
		if err != nil || info.Mode() != want {
			t.Errorf("%s: mode %v, %v, want %v", name, info.Mode(), err, want)
		}
	}
	if entries, _ := os.ReadDir(path); len(entries) != 2 {
		t.Errorf("the directory holds %v, want the lock and the journal alone", entries)
	}
}

func TestOpenDirRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(file, nil, 0o600))
	open777 := t.TempDir()
	must.Do(t, os.Chmod(open777, 0o777))
	linked := t.TempDir()
	must.Do(t, os.Symlink("elsewhere", filepath.Join(linked, lockName)))
	for name, tt := range map[string]struct{ path, says string }{
		"a file":                           {file, "not a directory"},
		"a directory that others write to": {open777, "chmod it to 0700"},
		"a lock that is a link":            {linked, "another file"},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := OpenDir(tt.path, here)
			if err == nil {
				d.Close()
				t.Fatal("opened")
			}
			if !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), tt.path) {
				t.Errorf("the error %q does not name %s or say %q", err, tt.path, tt.says)
			}
		})
	}
}

func TestNetworkFileSystemsAreRefused(t *testing.T) {
	// Numbers from statfs(2) and from GNU coreutils' src/stat.c, not from the table under test.
	for kind, local := range map[filesystem.Type]bool{
		0x6969: false, 0x517b: false, 0xff534d42: false, 0xfe534d42: false, 0x5346414f: false,
		0x6b414653: false, 0x00c36400: false, 0x01021997: false, 0x65735546: false, 0: false,
		0x564c: false, 0x73757245: false, 0x0bd00bd0: false, 0x47504653: false, 0x01161970: false, 0x7461636f: false,
		0x786f4256: false, 0xbacbacbc: false, 0x7c7c6673: false, 0x19830326: false, 0x20030528: false,
		0xaad7aaea: false, 0xbeefdead: false, 0x61636673: false, 0x013111a8: false, 0xa501fcf5: false, 0x18031977: false,
		0x00c0ffee: false,
		// ext4, xfs, btrfs, zfs, f2fs, exfat, vfat, bcachefs, tmpfs, ramfs, overlay, and what is
		// not Linux's
		0xef53: true, 0x58465342: true, 0x9123683e: true, 0x2fc12fc1: true, 0xf2f52010: true, 0x2011bab0: true, 0x4d44: true,
		0xca451a4e: true, 0x01021994: true, 0x858458f6: true, 0x794c7630: true, filesystem.Untold: true,
	} {
		path := filepath.Join(t.TempDir(), "state")
		d, err := Options{}.openDir(path, here, nil, func(*os.File) (filesystem.Type, error) { return kind, nil })
		if (err == nil) != local {
			t.Errorf("type %#x: opened %v (%v), want %v", uint32(kind), err == nil, err, local)
		}
		if err == nil {
			d.Close()
		} else if !strings.Contains(err.Error(), "local disk") || !strings.Contains(err.Error(), path) {
			t.Errorf("type %#x: the error %q does not name the directory or say what to do", uint32(kind), err)
		}
	}
	broken := errors.New("statfs failed")
	if _, err := (Options{}).openDir(t.TempDir(), here, nil, func(*os.File) (filesystem.Type, error) { return 0, broken }); !errors.Is(err, broken) {
		t.Errorf("openDir on an unknown file system: %v, want %v", err, broken)
	}
}

func TestImpossibleContentsAreRefused(t *testing.T) {
	lane := Entry{Worker: 3, Opening: "o", Mark: 5}
	for name, tt := range map[string]struct {
		change func(*Contents)
		ok     bool
	}{
		"as it is":               {func(*Contents) {}, true},
		"mark 0":                 {func(c *Contents) { c.Entries[0].Mark = 0 }, true},
		"worker ID 0":            {func(c *Contents) { c.Entries[0].Worker = 0 }, true},
		"two worker IDs":         {func(c *Contents) { c.Entries = append(c.Entries, Entry{Worker: 4, Opening: "o"}) }, true},
		"mark below 0":           {func(c *Contents) { c.Entries[0].Mark = -1 }, false},
		"worker ID below 0":      {func(c *Contents) { c.Entries[0].Worker = -1 }, false},
		"no opening":             {func(c *Contents) { c.Entries[0].Opening = "" }, false},
		"one worker ID twice":    {func(c *Contents) { c.Entries = append(c.Entries, Entry{Worker: 3, Opening: "p"}) }, false},
		"a cluster of no UTF-8":  {func(c *Contents) { c.Cluster = "\xff" }, false},
		"an opening of no UTF-8": {func(c *Contents) { c.Entries[0].Opening = "\xff" }, false},
		"a claim of no UTF-8":    {func(c *Contents) { c.Entries[0].Claim = "\xff" }, false},
		"larger than it may be":  {func(c *Contents) { c.Coord = strings.Repeat("x", slotSize) }, false},
		"as large as it may be":  {change: nil, ok: true},
		"a byte above that":      {change: nil, ok: false},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t, t.TempDir())
			write(t, d, contents(1))
			c := Contents{Cluster: "c", Entries: []Entry{lane}}
			if tt.change == nil {
				fillUp(t, d, &c)
				if !tt.ok {
					c.Coord += "x"
				}
			} else {
				tt.change(&c)
			}
			err := d.Write(c)
			if (err == nil) != tt.ok {
				t.Fatalf("Write: %v, want success %v", err, tt.ok)
			}
			if tt.ok {
				wantRead(t, d, c)
			} else {
				wantRead(t, d, contents(1))
			}
		})
	}
}

// fillUp makes c's text exactly as long as a slot, in a journal that has been written once.
func fillUp(t *testing.T, d *Dir, c *Contents) {
	c.Coord = strings.Repeat("x", 20_000) // the first line already has as many digits as in the end
	with := *c
	with.Place = must.Get(d.disk.Place())(t)
	data := must.Get(encode(with, 2))(t)
	c.Coord += strings.Repeat("x", slotSize-len(data))
}

// TestScheduleTheLockThatWasFreed: two daemons must never write one journal,
// neither because the journal's replacement freed the lock, nor because the
// directory or the lock was made anew under the live holder.
func TestScheduleTheLockThatWasFreed(t *testing.T) {
	t.Run("the journal is replaced", func(t *testing.T) {
		d := open(t, t.TempDir())
		for mark := range generator.Tick(3) {
			write(t, d, contents(mark))
			var inUse *InUseError
			if _, err := OpenDir(d.Path(), here); !errors.As(err, &inUse) || inUse.PID != os.Getpid() || inUse.Dir != d.Path() {
				t.Fatalf("after write %d, OpenDir: %v, want it to be in use by %d", mark, err, os.Getpid())
			}
		}
	})
	t.Run("the directory is made anew", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "state")
		first := open(t, path)
		write(t, first, contents(1))
		must.Do(t, os.RemoveAll(path))
		wantMoved(t, first, contents(2)) // gone
		second := open(t, path)
		write(t, second, contents(3))
		wantMoved(t, first, contents(4)) // another
		wantRead(t, second, contents(3))
	})
	t.Run("the directory is moved aside", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "state")
		first := open(t, path)
		must.Do(t, os.Rename(path, path+".old"))
		second := open(t, path)
		write(t, second, contents(3))
		wantMoved(t, first, contents(4))
		wantRead(t, second, contents(3))
	})
	t.Run("the directory is made anew around the lock", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "state")
		first := open(t, path)
		must.Do(t, os.Rename(path, path+".old"))
		must.Do(t, os.Mkdir(path, 0o700))
		must.Do(t, os.Link(filepath.Join(path+".old", lockName), filepath.Join(path, lockName)))
		wantMoved(t, first, contents(1))
	})
	t.Run("the lock is replaced", func(t *testing.T) {
		first := open(t, t.TempDir())
		write(t, first, contents(1))
		must.Do(t, os.Remove(filepath.Join(first.Path(), lockName)))
		wantMoved(t, first, contents(2)) // gone
		second := open(t, first.Path())
		if c, err := second.Read(); err != nil || c.Entries[0].Mark != 1 {
			t.Fatalf("Read() = %+v, %v, want mark 1", c, err)
		}
		write(t, second, contents(3))
		wantMoved(t, first, contents(4)) // another
		wantRead(t, second, contents(3))
	})
	t.Run("the lock is replaced during a write", func(t *testing.T) {
		first := open(t, t.TempDir())
		write(t, first, contents(1))
		first.disk = &hookedDisk{Disk: first.disk, beforeWrite: func() {
			must.Do(t, os.Remove(filepath.Join(first.Path(), lockName)))
			second := open(t, first.Path())
			if c, err := second.Read(); err != nil || c.Entries[0].Mark != 1 {
				t.Fatalf("Read() before the write: %+v, %v, want mark 1", c, err)
			}
		}}
		wantMoved(t, first, contents(2))
	})
	t.Run("another journal is put in the place of this one", func(t *testing.T) {
		first := open(t, t.TempDir())
		path := filepath.Join(first.Path(), journalName)
		write(t, first, contents(1))
		old := must.Get(os.ReadFile(path))(t)
		write(t, first, contents(2))
		must.Do(t, os.WriteFile(path+".old", old, 0o600))
		must.Do(t, os.Rename(path+".old", path))
		wantMoved(t, first, contents(3))
		must.Do(t, os.Remove(path))
		wantMoved(t, first, contents(4))
	})
	t.Run("another journal is put there during a write", func(t *testing.T) {
		first := open(t, t.TempDir())
		path := filepath.Join(first.Path(), journalName)
		write(t, first, contents(1))
		first.disk = &hookedDisk{Disk: first.disk, beforeWrite: func() {
			must.Do(t, os.WriteFile(path+".old", nil, 0o600))
			must.Do(t, os.Rename(path+".old", path))
		}}
		wantMoved(t, first, contents(2))
	})
}

type hookedDisk struct {
	Disk
	beforeWrite func()
}

func (d *hookedDisk) WriteAt(data []byte, at int64) error {
	d.beforeWrite()
	return d.Disk.WriteAt(data, at)
}

func wantMoved(t *testing.T, d *Dir, c Contents) {
	t.Helper()
	if err := d.Write(c); !errors.Is(err, ErrMoved) || !strings.Contains(err.Error(), d.Path()) {
		t.Fatalf("Write: %v, want ErrMoved that names %s", err, d.Path())
	}
}

func TestAClosedDirectoryIsFreeAndWritesNoMore(t *testing.T) {
	first := open(t, t.TempDir())
	write(t, first, contents(1))
	must.Do(t, first.Close())
	second := open(t, first.Path())
	if err := first.Write(contents(2)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Write after Close: %v, want os.ErrClosed", err)
	}
	wantRead(t, second, contents(1))
}

// A directory of an earlier version is refused by name: its journal has another format, or it has
// several.
func TestADirectoryOfAnEarlierVersionIsRefused(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"another format": {journalName: "flakeward journal 2 crc32c 0d9a1b02 number 1 bytes 312\n{}\n"},
		"several":        {journalName + "-1": ""},
	} {
		path := t.TempDir()
		must.Do(t, os.Chmod(path, 0o700))
		for file, text := range files {
			must.Do(t, os.WriteFile(filepath.Join(path, file), []byte(text), 0o600))
		}
		var earlier *EarlierError
		if _, err := OpenDir(path, place.Host{}); !errors.As(err, &earlier) || earlier.Path != path {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Look(path); !errors.As(err, &earlier) {
			t.Errorf("%s: looked at with %v", name, err)
		}
	}
}
