//go:build linux

package forgetfs_test

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/e2e/powercut/forgetfs"
)

func TestWhatSurvives(t *testing.T) {
	m := mount(t, forgetfs.Options{Sector: 1 << 20})
	content := func(name string) func(string) string {
		return func(dir string) string { return m.read(dir + "/" + name) }
	}
	both := func(dir string) string { return m.read(dir+"/a") + ", " + m.read(dir+"/b") }
	durable := func(name, contents string) {
		t.Helper()
		m.check(m.create(name, contents).Sync())
	}

	m.expect("nothing flushed", m.outcomes(func(dir string) { m.create(dir+"/f", "x") }, content("f")), "", "none", "x")
	m.expect("the file flushed", m.outcomes(func(dir string) { durable(dir+"/f", "x") }, content("f")), "x")
	m.expect("only the directory flushed", m.outcomes(func(dir string) {
		m.create(dir+"/f", "x")
		m.syncDir(dir)
	}, content("f")), "", "x")
	m.expect("in new directories", m.outcomes(func(dir string) {
		m.check(os.MkdirAll(m.path(dir+"/d/e"), 0o700))
		durable(dir+"/d/e/f", "x")
	}, content("d/e/f")), "x")
	m.expect("written again", m.outcomes(func(dir string) {
		f := m.create(dir+"/f", "one")
		m.check(f.Sync())
		_, err := f.WriteAt([]byte("two"), 0)
		m.check(err)
		_, err = f.WriteAt([]byte("X"), 1)
		m.check(err)
	}, content("f")), "one", "two", "oXe", "tXo")
	m.expect("a hole", m.outcomes(func(dir string) {
		f := m.create(dir+"/f", "a")
		_, err := f.WriteAt([]byte("b"), 1)
		m.check(errors.Join(f.Sync(), err))
		_, err = f.WriteAt([]byte("c"), 2)
		m.check(err)
		_, err = f.WriteAt([]byte("d"), 3)
		m.check(err)
	}, content("f")), "ab", "abc", "ab\x00d", "abcd")
	m.expect("cut off and written on", m.outcomes(func(dir string) {
		f := m.create(dir+"/f", "one")
		m.check(f.Sync())
		m.check(f.Truncate(0))
		_, err := f.WriteAt([]byte("2"), 0)
		m.check(err)
	}, content("f")), "one", "", "2")

	replaced := func(then func(dir string)) func(dir string) {
		return func(dir string) {
			durable(dir+"/b", "old")
			durable(dir+"/a", "new")
			m.check(os.Rename(m.path(dir+"/a"), m.path(dir+"/b")))
			then(dir)
		}
	}
	m.expect("a rename", m.outcomes(replaced(func(string) {}), both), "new, old", "none, new")
	m.expect("a rename, the directory flushed", m.outcomes(replaced(m.syncDir), both), "none, new")
	m.expect("a rename, the file flushed", m.outcomes(replaced(func(dir string) { m.check(m.create(dir+"/b", "new").Sync()) }), both), "none, new")
	exchanged := func(then func(dir string)) func(dir string) {
		return func(dir string) {
			durable(dir+"/b", "old")
			durable(dir+"/a", "new")
			m.check(unix.Renameat2(unix.AT_FDCWD, m.path(dir+"/a"), unix.AT_FDCWD, m.path(dir+"/b"), unix.RENAME_EXCHANGE))
			then(dir)
		}
	}
	m.expect("an exchange", m.outcomes(exchanged(func(string) {}), both), "new, old", "old, new")
	m.expect("an exchange, the directory flushed", m.outcomes(exchanged(m.syncDir), both), "old, new")
	removed := func(then func(dir string)) func(dir string) {
		return func(dir string) {
			durable(dir+"/f", "x")
			m.check(os.Remove(m.path(dir + "/f")))
			then(dir)
		}
	}
	m.expect("a removal", m.outcomes(removed(func(string) {}), content("f")), "none", "x")
	m.expect("a removal, the directory flushed", m.outcomes(removed(m.syncDir), content("f")), "none")
	m.expect("a name that is used again", m.outcomes(func(dir string) {
		durable(dir+"/a", "old")
		m.check(os.Rename(m.path(dir+"/a"), m.path(dir+"/b")))
		durable(dir+"/a", "new")
	}, both), "new, old")
	m.expect("two names by themselves", m.outcomes(func(dir string) {
		durable(dir+"/a", "1")
		durable(dir+"/b", "2")
		m.check(errors.Join(os.Remove(m.path(dir+"/a")), os.Remove(m.path(dir+"/b"))))
	}, both), "1, 2", "none, 2", "1, none", "none, none")
}

// A write is torn where sectors meet, and nowhere else.
func TestTornWrites(t *testing.T) {
	const size = 4
	m := mount(t, forgetfs.Options{Sector: size})
	old, after := bytes.Repeat([]byte("."), 4*size), bytes.Repeat([]byte("x"), 2*size+2)
	torn := m.outcomes(func(dir string) {
		f := m.create(dir+"/f", string(old))
		m.check(f.Sync())
		_, err := f.WriteAt(after, size+1)
		m.check(err)
	}, func(dir string) string { return m.read(dir + "/f") })
	m.expect("a write over three sectors", torn,
		"................", ".....xxxxxxxxxx.", ".....xxx........", ".....xxxxxxx....",
		"........xxxxxxx.", "............xxx.", ".....xxx....xxx.")
}
