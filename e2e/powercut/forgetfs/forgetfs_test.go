//go:build linux

package forgetfs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
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

// The power is cut at the flush that was asked for, with it or without it. Nobody learns how it
// went, and the same file system serves again.
func TestPowerCutAtAFlush(t *testing.T) {
	m := mount(t, forgetfs.Options{Sector: 512, Lies: func(path string) bool { return path == "lies" }})
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
		go func() { failed <- f.Sync() }()
		if got, want := <-off, (forgetfs.Flush{Number: 3, Path: "f"}); got != want {
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
