package dir_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/claims"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/dir"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/filesystem"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/need"
)

// coded reports whether an error has the code, and names what is wrong.
func coded(t *testing.T, what string, err error, code dir.Code) {
	t.Helper()
	var e *dir.Error
	if !errors.As(err, &e) || e.Code != code || !strings.Contains(err.Error(), string(code)) || e.Do == "" {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

// claimed is a claim with a ceiling of 100.
func claimed(t *testing.T, c *dir.Coordinator) coord.Claim {
	t.Helper()
	claim := must.Get(c.Claim(t.Context(), fresh()))(t)
	must.Do(t, claim.Extend(t.Context(), coord.Progress{Ceiling: 100}))
	return claim
}

// ceiling is the one that the record of the claim's worker ID has.
func ceiling(t *testing.T, c *dir.Coordinator, claim coord.Claim) int64 {
	t.Helper()
	for _, m := range must.Get(c.Marks(t.Context()))(t) {
		if m.Worker == claim.Worker() {
			return int64(m.Ceiling)
		}
	}
	return 0
}

func TestAFileThatCannotBeSyncedIsNotThere(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "coord")
	c := opened(t, path, "a", 2)
	claim := claimed(t, c)
	dir.Sync(c, func(*os.File, func(*os.File) error) error { return unix.EIO })
	coded(t, "Extend", claim.Extend(t.Context(), coord.Progress{Ceiling: 500}), dir.CodeDisk)
	if got := ceiling(t, c, claim); got != 100 {
		t.Errorf("the ceiling is %d, want 100", got)
	}
	if _, err := os.Lstat(filepath.Join(path, "new")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
	dir.Sync(c, func(f *os.File, sync func(*os.File) error) error { return sync(f) })
	must.Do(t, claim.Extend(t.Context(), coord.Progress{Ceiling: 500}))
	if got := ceiling(t, c, claim); got != 500 {
		t.Errorf("the ceiling is %d, want 500", got)
	}
}

// What the kernel shows after that, the disk may not have: nothing is acknowledged by reading it,
// also where somebody has deleted the claim before.
func TestADirectoryThatCannotBeSyncedEndsTheSession(t *testing.T) {
	t.Parallel()
	for _, cleared := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "coord")
		c := opened(t, path, "a", 2)
		claim, beside := claimed(t, c), claimed(t, c)
		if cleared {
			must.Do(t, c.Clear(t.Context(), claim.Name()))
		}
		dir.Sync(c, func(f *os.File, sync func(*os.File) error) error {
			if info := must.Get(f.Stat())(t); info.IsDir() {
				return unix.EIO
			}
			return sync(f)
		})
		coded(t, "Extend", claim.Extend(t.Context(), coord.Progress{Ceiling: 500}), dir.CodeDisk)
		dir.Sync(c, func(f *os.File, sync func(*os.File) error) error { return sync(f) })
		for _, of := range []coord.Claim{claim, beside} {
			if err := of.Extend(t.Context(), coord.Progress{Ceiling: 500}); !errors.Is(err, coord.ErrLost) {
				t.Errorf("cleared %v: Extend: %v, want ErrLost", cleared, err)
			}
		}
		if all := members(t, c); len(all) != 0 {
			t.Errorf("cleared %v: the members are %+v, want none", cleared, all)
		}
		again := must.Get(c.Claim(t.Context(), coord.Request{Worker: claim.Worker(), Latest: 1 << 40}))(t)
		if again.Worker() != claim.Worker() || again.Floor() != 500 {
			t.Errorf("cleared %v: worker ID %d above %d, want %d above 500, which the disk may have", cleared, again.Worker(), again.Floor(), claim.Worker())
		}
		must.Do(t, again.Extend(t.Context(), coord.Progress{Ceiling: 600}))
	}
}

// An opening that the disk may not have is not found out to be stored by looking.
func TestAnOpeningThatIsNotSyncedIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	c := opened(t, filepath.Join(t.TempDir(), "coord"), "a", 2)
	failed := 0
	r := fresh()
	r.Before = func(worker int) error {
		if worker != coord.AnyWorker {
			dir.Sync(c, func(f *os.File, sync func(*os.File) error) error {
				if filepath.Base(f.Name()) == "workers" && failed == 0 {
					failed++
					return unix.EIO
				}
				return sync(f)
			})
		}
		return nil
	}
	if _, err := c.Claim(t.Context(), r); !errors.Is(err, coord.ErrLost) || failed != 1 {
		t.Errorf("Claim: %v after %d failures, want ErrLost", err, failed)
	}
	claimed(t, c)
}

// copied copies a directory as an operator does.
func copied(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func TestADirectoryThatIsReplacedUnderItsDaemon(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		replace func(t *testing.T, path string)
		same    bool // the cluster has the same UUID
	}{
		"by a copy": {func(t *testing.T, path string) {
			copied(t, path, path+".1")
			must.Do(t, os.Rename(path, path+".0"), os.Rename(path+".1", path))
		}, true},
		"by another cluster":  {func(t *testing.T, path string) { must.Do(t, os.Rename(path, path+".0")); opened(t, path, "b", 2) }, false},
		"by an empty one":     {func(t *testing.T, path string) { must.Do(t, os.Rename(path, path+".0"), os.Mkdir(path, 0o700)) }, false},
		"by nothing":          {func(t *testing.T, path string) { must.Do(t, os.Rename(path, path+".0")) }, false},
		"by what was in it":   {func(t *testing.T, path string) { must.Do(t, os.Remove(filepath.Join(path, "cluster"))) }, false},
		"by what was deleted": {func(t *testing.T, path string) { must.Do(t, os.RemoveAll(path)) }, false},
		"by what a backup has": {func(t *testing.T, path string) {
			copied(t, path, path+".0")
			must.Do(t, os.RemoveAll(path))
			copied(t, path+".0", path)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "coord")
			c := opened(t, path, "a", 2)
			claim := claimed(t, c)
			must.Do(t, c.Stays())
			tt.replace(t, path)
			if err := c.Stays(); errors.Is(err, coord.ErrOtherCluster) == (name == "by what was in it") {
				t.Errorf("Stays: %v", err)
			}
			for range 2 {
				err := claim.Extend(t.Context(), coord.Progress{Ceiling: 500})
				var restored *coord.RestoredError
				if errors.Is(err, coord.ErrOtherCluster) == tt.same || errors.As(err, &restored) != tt.same || !strings.Contains(err.Error(), path) {
					t.Errorf("Extend: %v", err)
				}
			}
		})
	}
}

// Nothing is issued in a new directory at or below the tick of its making, whoever comes later.
func TestADirectoryBeginsWithItsMaking(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "coord")
	for _, now := range []generator.Tick{700, 900} {
		c := must.Get(dir.New(dir.Config{Path: path, Identity: coord.Identity{Incarnation: rand.Text()}}))(t)
		must.Get(c.Join(t.Context(), coord.Layout{Text: layout, Workers: 2, Now: now}))(t)
		if got := must.Get(c.Claim(t.Context(), fresh()))(t).Floor(); got != 700 {
			t.Errorf("the floor is %d", got)
		}
		must.Do(t, c.Close())
	}
}

func TestACopyIsRefusedUntilItIsAdopted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "coord")
	c := opened(t, path, "a", 2)
	claim := claimed(t, c)
	was := must.Get(c.Inspect(t.Context()))(t)
	copied(t, path, path+".1")
	_, err := join(t.Context(), path+".1", "b", 2)
	coded(t, "Join of the copy", err, dir.CodeCopied)
	if !errors.Is(err, claims.ErrRefused) || !strings.Contains(err.Error(), "flakeward cluster adopt") {
		t.Errorf("%v does not say what to do", err)
	}
	adopting := must.Get(dir.New(dir.Config{Path: path + ".1", Adopt: true, Identity: coord.Identity{Incarnation: "adopting"}}))(t)
	must.Get(adopting.Inspect(t.Context()))(t)
	is := must.Get(adopting.NewUUID(t.Context()))(t)
	must.Do(t, adopting.Close())
	if is == was.UUID {
		t.Error("the copy has the UUID of the original")
	}
	opened(t, path+".1", "b", 2)
	must.Do(t, claim.Extend(t.Context(), coord.Progress{Ceiling: 500})) // the original is what it was
}

// damaged writes a file otherwise.
func damaged(t *testing.T, name string, change func([]byte) []byte) {
	t.Helper()
	must.Do(t, os.WriteFile(name, change(must.Get(os.ReadFile(name))(t)), 0o600))
}

func TestFilesThatAreDamaged(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func([]byte) []byte{
		"empty":     func([]byte) []byte { return nil },
		"torn":      func(b []byte) []byte { return b[:len(b)-1] },
		"changed":   func(b []byte) []byte { b[len(b)-2]++; return b },
		"no header": func(b []byte) []byte { return b[strings.IndexByte(string(b), '\n')+1:] },
		"zeros":     func(b []byte) []byte { return make([]byte, len(b)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "coord")
			c := opened(t, path, "a", 4)
			claim := claimed(t, c)
			in := func(pattern string) string { return must.Get(filepath.Glob(filepath.Join(path, pattern)))(t)[0] }

			damaged(t, in("seq"), change)
			damaged(t, in("hosts/*"), change)
			damaged(t, in("history/*"), change)
			damaged(t, in("claims/*"), change)
			if all := members(t, c); len(all) != 1 || all[0].Worker != claim.Worker() || all[0].Host != "" {
				t.Errorf("the members are %+v", all)
			}
			must.Do(t, claim.Extend(t.Context(), coord.Progress{Ceiling: 200}))
			if other := must.Get(opened(t, path, "a", 4).Claim(t.Context(), fresh()))(t); other.Worker() == claim.Worker() {
				t.Error("worker ID is held twice")
			}

			damaged(t, in(fmt.Sprintf("workers/%07d", claim.Worker())), change)
			if err := claim.Extend(t.Context(), coord.Progress{Ceiling: 300}); !errors.Is(err, coord.ErrLost) {
				t.Errorf("Extend over a damaged record: %v, want ErrLost", err)
			}
			shown := 0
			for _, m := range must.Get(c.Marks(t.Context()))(t) {
				if m.Damaged {
					shown++
				}
			}
			if shown != 1 {
				t.Errorf("%d records are shown as damaged, want 1", shown)
			}

			damaged(t, in("cluster"), change)
			_, err := join(t.Context(), path, "b", 4)
			coded(t, "Join", err, dir.CodeDamaged)
			_, err = c.Members(t.Context())
			coded(t, "Members", err, dir.CodeDamaged)
		})
	}
}

func TestDirectoriesThatAreRefused(t *testing.T) {
	t.Parallel()
	at := t.TempDir()
	_, err := join(t.Context(), filepath.Join(at, "not", "there"), "a", 2)
	coded(t, "in a directory that is not there", err, dir.CodeMissing)
	must.Do(t, os.Chmod(at, 0o777))
	_, err = join(t.Context(), at, "a", 2)
	coded(t, "where anybody may write", err, dir.CodeAccess)
	if left := must.Get(os.ReadDir(at))(t); len(left) != 0 {
		t.Errorf("it left %v", left)
	}
	file := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(file, nil, 0o600))
	_, err = join(t.Context(), file, "a", 2)
	coded(t, "a file", err, dir.CodeMissing)
	for _, reason := range []error{unix.EACCES, unix.EPERM, unix.EROFS} {
		err := dir.Failed(at, &fs.PathError{Op: "open", Path: at, Err: reason})
		coded(t, reason.Error(), err, dir.CodeAccess)
		if !errors.Is(err, coord.ErrAccess) || !strings.Contains(err.Error(), "--coord") || !strings.Contains(err.Error(), "volume") {
			t.Errorf("%v does not name --coord and a volume, or is no ErrAccess", err)
		}
	}
	for kind, allowed := range map[filesystem.Type]bool{0x6969: false, 0x00c36400: false, filesystem.FUSE: false, 0xef53: true, 0x01021994: true} {
		err := dir.Lasts(at, false, kind)
		if (err == nil) != allowed {
			t.Errorf("on %#x: %v", uint32(kind), err)
		}
		if err != nil {
			coded(t, "file system", err, dir.CodeFileSystem)
		}
	}
	must.Do(t, dir.Lasts(at, true, filesystem.FUSE))
	if err := dir.Lasts(at, true, 0x6969); err == nil {
		t.Error("NFS is allowed with FUSE")
	}
}

// An operator lets several users share a directory by its mode.
func TestADirectoryOfAGroup(t *testing.T) {
	t.Parallel()
	for mode, want := range map[os.FileMode][2]os.FileMode{
		0o700:                 {0o700 | os.ModeDir, 0o600},
		0o770 | os.ModeSetgid: {0o770 | os.ModeSetgid | os.ModeDir, 0o660},
	} {
		path := filepath.Join(t.TempDir(), "coord")
		must.Do(t, os.Mkdir(path, 0o700))
		must.Do(t, os.Chmod(path, mode))
		claimed(t, opened(t, path, "a", 2))
		must.Do(t, filepath.WalkDir(path, func(name string, e fs.DirEntry, err error) error {
			if err != nil || name == path {
				return err
			}
			got := must.Get(e.Info())(t).Mode()
			if e.IsDir() && got != want[0] || !e.IsDir() && got != want[1] {
				t.Errorf("in a directory of mode %v, %s has %v", mode, name, got)
			}
			return nil
		}))
	}
}

// What root's commands make in a directory is its owner's, who has to write there.
func TestRootLeavesADirectoryToItsOwner(t *testing.T) {
	t.Parallel()
	need.Root(t) // only root may give files away
	const owner = 4711
	path := filepath.Join(t.TempDir(), "coord")
	must.Do(t, os.Mkdir(path, 0o700), os.Chown(path, owner, -1))
	claimed(t, opened(t, path, "a", 2))
	must.Do(t, filepath.WalkDir(path, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if got := must.Get(e.Info())(t).Sys().(*syscall.Stat_t).Uid; got != owner {
			t.Errorf("%s belongs to %d", name, got)
		}
		return nil
	}))
}

// A write that lands after a later one of the same claim is refused by the version: it would take
// the record back.
func TestALateWriteDoesNotPass(t *testing.T) {
	t.Parallel()
	var wire coordtest.Wire
	h := &harness{filepath.Join(t.TempDir(), "coord"), map[coord.Coordinator]string{}}
	c := h.open(t, coord.Identity{Incarnation: "a"}, &wire).(*dir.Coordinator)
	must.Get(c.Join(t.Context(), coord.Layout{Text: layout, Workers: 2}))(t)
	claim := claimed(t, c)
	held, release := wire.Delays.Arm(0)
	ctx, cancel := context.WithCancel(t.Context())
	late := make(chan error)
	go func() { late <- claim.Extend(ctx, coord.Progress{Ceiling: 200}) }()
	<-held
	cancel()
	if err := <-late; err == nil {
		t.Fatal("an Extend that was held back succeeded")
	}
	must.Do(t, claim.Extend(t.Context(), coord.Progress{Ceiling: 500}))
	release()
	if got := ceiling(t, c, claim); got != 500 {
		t.Errorf("the ceiling is %d after a write of 200 that was late", got)
	}
}
