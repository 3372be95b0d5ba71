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
)

// inNamespace names the variable that tells the child that it has a file system of its own to fill.
const inNamespace = "FLAKEWARD_TEST_SMALL_DISK"

// A disk that others have filled stops issuing at the last mark that is on it, the answer says why, and issuing goes on once there is room,
// although the embedded coordinator writes to the same disk. The disk is a small file system that only a child process sees.
func TestDiskFull(t *testing.T) {
	if disk := os.Getenv(inNamespace); disk != "" {
		fillDisk(t, disk)
		return
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDiskFull$", "-test.v")
	child.Env = append(os.Environ(), inNamespace+"="+t.TempDir())
	child.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
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
	c.Waiting.MaxBlock = 300 * time.Millisecond
	r := start(t, c)
	r.next()

	filler := filepath.Join(disk, "filler")
	f, err := os.Create(filler)
	if err != nil {
		t.Fatal(err)
	}
	block := make([]byte, 4096)
	for err == nil {
		_, err = f.Write(block)
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("filling the disk ended with %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	for { // up to the last mark there is something to issue
		id, err := r.client.Do(t.Context(), "NEXT").Int64()
		if err == nil {
			if mark := r.info()["journal_mark"]; r.info()["issued"] > mark {
				t.Fatalf("ID %d is above the mark %s", id, mark)
			}
			continue
		}
		if text := err.Error(); !strings.HasPrefix(text, "UNAVAILABLE since ") || !strings.Contains(text, "no space left") {
			t.Fatalf("the answer on a full disk is %q", text)
		}
		break
	}
	if state := r.info()["state"]; state != "stopped" {
		t.Errorf("INFO says %q", state)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := r.do("NEXT"); err == nil {
			break
		}
	}
	// The coordinator is alive, too.
	for before := r.info()["ceiling"]; r.info()["ceiling"] == before; {
		r.next()
	}
}
