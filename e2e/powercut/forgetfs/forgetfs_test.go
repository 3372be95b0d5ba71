//go:build linux

package forgetfs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/e2e/powercut/forgetfs"
	"github.com/flakeward/flakeward/internal/isolated"
)

func TestMain(m *testing.M) { os.Exit(isolated.Main(m.Run)) }

// mounted is a file system and paths in it.
type mounted struct {
	*testing.T
	*forgetfs.FS
	dir    string
	chance *rand.Rand
	made   int // directories, by outcomes
}

func mount(t *testing.T, o forgetfs.Options) *mounted {
	t.Helper()
	dir := t.TempDir()
	f, err := forgetfs.Mount(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Unmount(); err != nil {
			t.Error(err)
		}
	})
	return &mounted{T: t, FS: f, dir: dir, chance: rand.New(rand.NewPCG(1, 2))}
}

func (m *mounted) path(name string) string { return filepath.Join(m.dir, name) }

func (m *mounted) check(err error) {
	m.Helper()
	if err != nil {
		m.Fatal(err)
	}
}

// create makes a file with contents that are not flushed, and leaves it open to the end of the
// test.
func (m *mounted) create(name, contents string) *os.File {
	m.Helper()
	f, err := os.OpenFile(m.path(name), os.O_CREATE|os.O_RDWR, 0o600)
	m.check(err)
	_, err = f.WriteAt([]byte(contents), 0)
	m.check(err)
	m.Cleanup(func() { _ = f.Close() })
	return f
}

func (m *mounted) read(name string) string {
	m.Helper()
	b, err := os.ReadFile(m.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return "none"
	}
	m.check(err)
	return string(b)
}

func (m *mounted) syncDir(name string) {
	m.Helper()
	d, err := os.Open(m.path(name))
	m.check(err)
	m.check(errors.Join(d.Sync(), d.Close()))
}

// cut cuts the power between two calls.
func (m *mounted) cut() {
	m.PowerOff()
	m.Release()
	m.Restore(m.chance)
}

// outcomes cuts the power many times, each after do on a new directory, and returns all that was
// seen then.
func (m *mounted) outcomes(do func(dir string), see func(dir string) string) (seen []string) {
	m.Helper()
	for range 80 {
		m.made++
		dir := fmt.Sprint(m.made)
		m.check(os.Mkdir(m.path(dir), 0o700))
		m.syncDir("")
		do(dir)
		m.cut()
		if s := see(dir); !slices.Contains(seen, s) {
			seen = append(seen, s)
		}
		m.check(os.RemoveAll(m.path(dir)))
	}
	slices.Sort(seen)
	return seen
}

func (m *mounted) expect(what string, got []string, want ...string) {
	m.Helper()
	slices.Sort(want)
	if !slices.Equal(got, want) {
		m.Errorf("%s: after power cuts there is %q, want %q", what, got, want)
	}
}

func TestItIsAFileSystem(t *testing.T) {
	m := mount(t, forgetfs.Options{})
	f := m.create("file", "hello")
	if got := m.read("file"); got != "hello" {
		t.Errorf("read %q", got)
	}
	_, err := f.WriteAt([]byte("p!"), 3)
	m.check(err)
	m.check(f.Truncate(4))
	m.check(unix.Fallocate(int(f.Fd()), 0, 0, 6))
	m.check(unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, 1<<20))
	if got := m.read("file"); got != "help\x00\x00" {
		t.Errorf("read %q", got)
	}
	appended, err := os.OpenFile(m.path("file"), os.O_WRONLY|os.O_APPEND, 0)
	m.check(err)
	_, err = appended.WriteString("end")
	m.check(errors.Join(err, appended.Close()))
	if got := m.read("file"); got != "help\x00\x00end" {
		t.Errorf("read %q", got)
	}
	m.check(os.WriteFile(m.path("file"), []byte("new"), 0))
	m.check(os.Chmod(m.path("file"), 0o640))
	if info, err := os.Stat(m.path("file")); err != nil || info.Mode() != 0o640 || info.Size() != 3 {
		t.Errorf("%v, %v", info, err)
	}

	m.check(os.MkdirAll(m.path("d/e"), 0o700))
	m.check(os.Rename(m.path("file"), m.path("d/moved")))
	m.create("over", "over")
	m.check(os.Rename(m.path("over"), m.path("d/moved")))
	if got := m.read("d/moved") + m.read("file") + m.read("over"); got != "overnonenone" {
		t.Errorf("after renames: %q", got)
	}
	var big []string
	for i := range 300 {
		name := filepath.Join("d/e", string(rune('a'+i%26))+string(rune('a'+i/26))+"-and-a-long-rest-of-its-name")
		m.check(os.WriteFile(m.path(name), nil, 0o600))
		big = append(big, filepath.Base(name))
	}
	slices.Sort(big)
	entries, err := os.ReadDir(m.path("d/e"))
	m.check(err)
	for i, e := range entries {
		if len(entries) != len(big) || e.Name() != big[i] {
			t.Fatalf("%d entries, of which the %dth is %s", len(entries), i, e.Name())
		}
	}
	if err := os.Remove(m.path("d")); !errors.Is(err, unix.ENOTEMPTY) {
		t.Errorf("removing what is not empty: %v", err)
	}
	if err := os.Mkdir(m.path("d"), 0o700); !errors.Is(err, fs.ErrExist) {
		t.Errorf("making what is there: %v", err)
	}
	m.check(os.RemoveAll(m.path("d")))

	lost := m.create("unlinked", "still")
	m.check(os.Remove(m.path("unlinked")))
	b := make([]byte, 5)
	if _, err := lost.ReadAt(b, 0); err != nil || string(b) != "still" {
		t.Errorf("an open file without a name: %q, %v", b, err)
	}
	var stat unix.Stat_t
	if m.check(unix.Fstat(int(lost.Fd()), &stat)); stat.Nlink != 0 {
		t.Errorf("it has %d names", stat.Nlink)
	}
	first, second := m.create("lock", ""), m.create("lock", "")
	m.check(unix.Flock(int(first.Fd()), unix.LOCK_EX|unix.LOCK_NB))
	if err := unix.Flock(int(second.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Errorf("locked twice: %v", err)
	}
	l, err := net.Listen("unix", m.path("socket"))
	m.check(err)
	c, err := net.Dial("unix", m.path("socket"))
	m.check(err)
	m.check(errors.Join(c.Close(), l.Close()))
}

// The power is cut at the flush that was asked for, with it or without it. Nobody learns how it
// went, and the same file system serves again.
func TestPowerCutAtAFlush(t *testing.T) {
	m := mount(t, forgetfs.Options{Lies: func(path string) bool { return path == "lies" }})
	f, lies := m.create("f", ""), m.create("lies", "")
	m.check(f.Sync())
	m.syncDir("")
	var before, again unix.Stat_t
	m.check(unix.Stat(m.path("f"), &before))
	m.check(errors.Join(f.Close(), lies.Close()))
	m.cut()
	counts := func(f forgetfs.Flush) bool { return f.Path == "f" }
	seen := map[string]int{}
	for i := range 40 {
		after := i%2 == 0
		f, lies := m.create("f", "old"), m.create("lies", "yes")
		off := m.Arm(forgetfs.Cut{Counts: counts, Number: 2, After: after})
		m.check(errors.Join(f.Sync(), lies.Sync()))
		_, err := f.WriteAt([]byte("new"), 0)
		m.check(err)
		failed := make(chan error, 2)
		go func() { failed <- unix.Fdatasync(int(f.Fd())) }()
		if got, want := <-off, (forgetfs.Flush{Number: 3, Path: "f", DataOnly: true}); got != want {
			t.Errorf("the power was cut at %+v, want %+v", got, want)
		}
		go func() { failed <- os.Mkdir(m.path("d"), 0o700) }()
		select {
		case err := <-failed:
			t.Errorf("a call returned without power: %v", err)
		default:
		}
		m.Release()
		for range 2 {
			if err := <-failed; !errors.Is(err, unix.EIO) {
				t.Errorf("a call without power ended with %v", err)
			}
		}
		m.check(errors.Join(f.Close(), lies.Close()))
		m.Restore(m.chance)
		seen[fmt.Sprint(after, " ", m.read("f"))]++
		seen["lies "+m.read("lies")]++
		if m.read("d") != "none" {
			t.Error("a directory was made without power")
		}
		m.check(os.Truncate(m.path("lies"), 0))
	}
	for _, want := range []string{"true new", "false old", "false new", "lies ", "lies yes"} {
		if seen[want] == 0 {
			t.Errorf("after no cut there was %q", want)
		}
	}
	if seen["true new"] != 20 || seen["lies none"] > 0 {
		t.Errorf("after the cuts there was %v", seen)
	}
	m.check(unix.Stat(m.path("f"), &again))
	if before.Ino != again.Ino || before.Dev != again.Dev {
		t.Errorf("the file was %d of device %d, and is %d of %d", before.Ino, before.Dev, again.Ino, again.Dev)
	}
}

// What a process had mapped and written is not what the next one finds.
func TestNoPagesOfBefore(t *testing.T) {
	if dir := os.Getenv("FORGETFS_MAPPED"); dir != "" {
		mapped(t, dir)
		return
	}
	m := mount(t, forgetfs.Options{})
	page := func(c byte) []byte { return bytes.Repeat([]byte{c}, 8192) }
	m.check(m.create("f", string(page('a'))).Sync())
	for range 3 {
		// A fault in this process might wait for a goroutine that the garbage collector has
		// stopped.
		child := exec.Command("/proc/self/exe", "-test.run=^TestNoPagesOfBefore$")
		child.Env = append(os.Environ(), "FORGETFS_MAPPED="+m.dir)
		if out, err := child.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for m.read("f") != string(page('a')) { // it may survive: then write it back
			m.check(m.create("f", string(page('a'))).Sync())
		}
		m.create("f", string(page('b')))
		m.PowerOff()
		m.Release()
		m.Restore(allLost)
	}
}

// allLost is a chance by which nothing survives that was not flushed.
var allLost = rand.New(zeros{})

type zeros struct{}

func (zeros) Uint64() uint64 { return 0 }

// mapped is the child: it finds what was flushed in its mapping, and then what it writes beside it.
func mapped(t *testing.T, dir string) {
	f, err := os.OpenFile(filepath.Join(dir, "f"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	b, err := unix.Mmap(int(f.Fd()), 0, 8192, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	if b[0] != 'a' || b[8191] != 'a' {
		t.Errorf("mapped %q and %q", b[0], b[8191])
	}
	if _, err := f.WriteAt([]byte("b"), 5000); err != nil {
		t.Fatal(err)
	}
	if b[5000] != 'b' {
		t.Errorf("after a write, mapped %q", b[5000])
	}
}

// Mounted anew, it has the same files on another device.
func TestRemount(t *testing.T) {
	m := mount(t, forgetfs.Options{})
	f := m.create("f", "x")
	var before, after unix.Stat_t
	m.check(unix.Stat(m.path("f"), &before))
	m.check(f.Close())
	m.check(m.Remount())
	m.check(unix.Stat(m.path("f"), &after))
	if before.Ino != after.Ino || before.Dev == after.Dev || m.read("f") != "x" {
		t.Errorf("the file was %d of device %d, and is %d of %d; it holds %q", before.Ino, before.Dev, after.Ino, after.Dev, m.read("f"))
	}
}

// The handle by which the kernel names a file stays over a cut.
func TestHandles(t *testing.T) {
	m := mount(t, forgetfs.Options{})
	f := m.create("f", "x")
	m.check(f.Sync())
	before, _, err := unix.NameToHandleAt(unix.AT_FDCWD, m.path("f"), 0)
	m.check(err)
	m.cut()
	after, _, err := unix.NameToHandleAt(unix.AT_FDCWD, m.path("f"), 0)
	m.check(err)
	if before.Type() != after.Type() || !bytes.Equal(before.Bytes(), after.Bytes()) {
		t.Errorf("the handle was %d %x, and is %d %x", before.Type(), before.Bytes(), after.Type(), after.Bytes())
	}
}
