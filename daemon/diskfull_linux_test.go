package daemon_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/internal/isolated"
	"github.com/flakeward/flakeward/internal/must"
)

// A disk that others have filled does not stop a daemon that runs, although the coordinator's
// directory is on the same disk: the journal's mark and the grant go on rising. The disk is a small
// file system that only this test sees.
func TestDiskFull(t *testing.T) {
	if isolated.Test(t, syscall.CLONE_NEWNS) {
		return
	}
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=32m,mode=0700"); err != nil {
		t.Fatalf("a small file system is needed for this test, and cannot be mounted: %v", err)
	}
	t.Cleanup(func() { must.Do(t, unix.Unmount(disk, unix.MNT_DETACH)) })
	c := config(dir(t))
	c.StateDir = filepath.Join(disk, "state")
	c.Grant.Publish = 200 * time.Millisecond
	c.Grant.Step = 2 * time.Second // a busy machine has a second for each mark
	c.Waiting.MaxBlock = 300 * time.Millisecond
	r := start(t, c)
	r.next()
	for _, text := range []string{"it is on tmpfs, which is lost at a reboot", "IDs can be issued again", c.StateDir} {
		if strings.Count(r.log.String(), text) == 0 {
			t.Errorf("of a state directory in memory the log does not say %q:\n%s", text, r.log)
		}
	}

	filler := filepath.Join(disk, "filler")
	f, err := os.Create(filler)
	must.Do(t, err)
	block := make([]byte, 4096)
	for err == nil {
		_, err = f.Write(block)
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("filling the disk ended with %v", err)
	}
	must.Do(t, f.Close())

	// The journal's mark is 2 s ahead at most: it has to be written anew for each of these.
	const renewals = 2
	marks, ceilings := map[string]bool{}, map[string]bool{}
	for len(marks) < renewals || len(ceilings) < renewals {
		r.next()
		info := r.info()
		marks[info["journal_mark"]], ceilings[info["ceiling"]] = true, true
		if state := info["state"]; state != "ready" {
			t.Fatalf("on a full disk, INFO says %q: %s", state, info["condition"])
		}
	}
	must.Get(os.Stat(filler))(t)
	if _, err := os.Create(filepath.Join(disk, "more")); err == nil {
		if err := os.WriteFile(filepath.Join(disk, "more"), block, 0o600); !errors.Is(err, unix.ENOSPC) {
			t.Fatalf("the disk was not full: %v", err)
		}
	}
}
