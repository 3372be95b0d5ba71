package daemon_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/internal/must"
)

// inNamespace names the variable that tells the child that it has a file system of its own to fill.
const inNamespace = "FLAKEWARD_TEST_SMALL_DISK"

// A disk that others have filled does not stop a daemon that runs, although the embedded
// coordinator writes to the same disk: the journal's mark and the grant go on rising. The disk is a
// small file system that only a child process sees.
func TestDiskFull(t *testing.T) {
	if disk := os.Getenv(inNamespace); disk != "" {
		fillDisk(t, disk)
		return
	}
	isolated(t, syscall.CLONE_NEWNS, inNamespace+"="+t.TempDir())
}

// isolated runs this test again, in a process with namespaces and variables of its own, and fails
// as it does.
func isolated(t *testing.T, namespaces uintptr, variables ...string) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	child.Env = append(os.Environ(), variables...)
	child.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces, Pdeathsig: syscall.SIGKILL}
	if id := os.Getuid(); id != 0 {
		child.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		child.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: id, Size: 1}}
		child.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func fillDisk(t *testing.T, disk string) {
	if err := errors.Join(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), unix.Mount("tmpfs", disk, "tmpfs", 0, "size=32m,mode=0700")); err != nil {
		t.Fatalf("a small file system is needed for this test, and cannot be mounted: %v", err)
	}
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
	const renewals = 4
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
