package dir_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/dir"
	"github.com/flakeward/flakeward/internal/must"
)

// harness is a kit's harness on one directory.
type harness struct {
	path  string
	names map[coord.Coordinator]string // incarnations
}

func (h *harness) kit() coordtest.Harness {
	return coordtest.Harness{Makes: true, Open: h.open, Revoke: h.revoke, Halt: h.halt, Wipe: h.wipe, Save: h.save}
}

func (h *harness) open(t testing.TB, identity coord.Identity, wire *coordtest.Wire) coord.Coordinator {
	t.Helper()
	c := must.Get(dir.New(dir.Config{Path: h.path, Identity: identity}.InOrder()))(t)
	h.names[c] = identity.Incarnation
	dir.Watch(c, wire)
	t.Cleanup(func() { must.Do(t, c.Close()) })
	return c
}

// revoke removes the coordinator's claims, as an operator may.
func (h *harness) revoke(t testing.TB, c coord.Coordinator) {
	t.Helper()
	for _, e := range must.Get(os.ReadDir(filepath.Join(h.path, "claims")))(t) {
		if strings.Contains(e.Name(), "-"+h.names[c]+"-") {
			must.Do(t, os.Remove(filepath.Join(h.path, "claims", e.Name())))
		}
	}
}

// halt takes the directory's lock, as a process that is stopped with it has.
func (h *harness) halt(t testing.TB) {
	t.Helper()
	f := must.Get(os.Open(h.path))(t)
	must.Do(t, unix.Flock(int(f.Fd()), unix.LOCK_EX))
	t.Cleanup(func() { must.Do(t, f.Close()) })
}

func (h *harness) wipe(t testing.TB) {
	t.Helper()
	must.Do(t, os.RemoveAll(h.path))
}

// save keeps the files, and puts them back in the directories that there are. Claims are locked by
// their makers, and stay.
func (h *harness) save(t testing.TB) (restore func()) {
	t.Helper()
	saved := map[string][]byte{}
	each := func(do func(path string)) {
		must.Do(t, filepath.WalkDir(h.path, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() && filepath.Base(filepath.Dir(path)) != "claims" {
				do(path)
			}
			return err
		}))
	}
	each(func(path string) { saved[path] = must.Get(os.ReadFile(path))(t) })
	return func() {
		t.Helper()
		each(func(path string) { must.Do(t, os.Remove(path)) })
		for path, value := range saved {
			must.Do(t, os.WriteFile(path, value, 0o600))
		}
	}
}

func TestConformance(t *testing.T) {
	coordtest.Run(t, func(t *testing.T) coordtest.Harness {
		t.Parallel() // each case has a directory of its own, and waits for the disk most of the time
		h := &harness{filepath.Join(t.TempDir(), "coord"), map[coord.Coordinator]string{}}
		return h.kit()
	})
}
