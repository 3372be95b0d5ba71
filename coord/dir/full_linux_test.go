package dir_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/claims"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/dir"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/need"
)

// small mounts a file system without much room.
func small(t *testing.T) string {
	t.Helper()
	need.Root(t)
	at := t.TempDir()
	if err := unix.Mount("tmpfs", at, "tmpfs", 0, "size=256k,mode=0700"); err != nil {
		need.That(t, err)
	}
	t.Cleanup(func() { must.Do(t, unix.Unmount(at, unix.MNT_DETACH)) })
	return at
}

// fill takes all the room, and returns what gives it back.
func fill(t *testing.T, at string) (free func()) {
	t.Helper()
	name := filepath.Join(at, "fill")
	f := must.Get(os.Create(name))(t)
	defer f.Close()
	for _, size := range []int{4096, 1} {
		for err := error(nil); err == nil; {
			if _, err = f.Write(make([]byte, size)); err != nil && !errors.Is(err, unix.ENOSPC) {
				t.Fatal(err)
			}
		}
	}
	return func() { must.Do(t, os.Remove(name)) }
}

func TestAFullDiskTakesWhatIsWrittenInThePlaceOfAFile(t *testing.T) {
	t.Parallel()
	at := small(t)
	c := opened(t, filepath.Join(at, "coord"), "a", 8)
	claim := claimed(t, c)
	free := fill(t, at)
	for i := range 20 {
		to := int64(200 + i)
		must.Do(t, claim.Extend(t.Context(), coord.Progress{Ceiling: generator.Tick(to)}))
		if got := ceiling(t, c, claim); got != to {
			t.Errorf("the ceiling is %d, want %d", got, to)
		}
	}
	_, err := c.Claim(t.Context(), fresh())
	coded(t, "Claim", err, dir.CodeFull)
	if !errors.Is(err, claims.ErrRefused) {
		t.Error("a claim asks a full disk again until its time is over, which is all that it says then")
	}
	must.Do(t, claim.Extend(t.Context(), coord.Progress{Ceiling: 300}))
	free()
	must.Get(c.Claim(t.Context(), fresh()))(t)
	must.Do(t, claim.Release(t.Context(), coordtest.Closed(250)))
	if got := ceiling(t, c, claim); got != 250 {
		t.Errorf("the ceiling is %d, want 250", got)
	}
}
