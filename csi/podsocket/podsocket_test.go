//go:build linux

package podsocket_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/csi/csitest"
	"github.com/flakeward/flakeward/csi/podsocket"
)

func TestMain(m *testing.M) { csitest.Main(m) }

var entry = podsocket.Entry{User: "orders/shop", Target: "/kubelet/mount"}

func open(t *testing.T) podsocket.Dir {
	d, err := podsocket.Open(csitest.NewNode(t).Pods)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestADirectoryIsWholeOrNotThere(t *testing.T) {
	d, id := open(t), podsocket.ID("v")
	if _, err := d.Read(id); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before: %v", err)
	}
	if err := d.Make(id, entry); err != nil {
		t.Fatal(err)
	}
	if got, err := d.Read(id); got != entry || err != nil {
		t.Errorf("made: %v, %v", got, err)
	}
	if err := d.Make(id, podsocket.Entry{}); err == nil {
		t.Error("a directory was made twice")
	}
	if got, err := d.Read(id); got != entry || err != nil {
		t.Errorf("made again: %v, %v", got, err)
	}
	for range 2 {
		if err := d.Remove(id); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := os.ReadDir(string(d)); len(left) > 0 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
}

// A daemon that is not root has the directory, and can make the socket.
func TestFilesBelongToWhomTheDirectoryAboveDoes(t *testing.T) {
	d, id := open(t), podsocket.ID("v")
	const uid, gid = 1234, 2345
	if err := os.Chown(string(d), uid, gid); err != nil {
		t.Skip("only root may give files away: ", err)
	}
	old := unix.Umask(0o077)
	defer unix.Umask(old)
	if err := d.Make(id, entry); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]uint32{"": 0o700, "user": 0o600, "socket": 0o755} {
		var s unix.Stat_t
		if err := unix.Stat(filepath.Join(string(d), id, name), &s); err != nil || s.Uid != uid || s.Gid != gid || s.Mode&0o777 != mode {
			t.Errorf("%q belongs to %d:%d, mode %o, %v; want %o", name, s.Uid, s.Gid, s.Mode, err, mode)
		}
	}
}

// A socket whose daemon was killed does not count.
func TestWaitIsForADaemonThatListens(t *testing.T) {
	d, id := open(t), podsocket.ID("v")
	if err := d.Make(id, entry); err != nil {
		t.Fatal(err)
	}
	daemon := csitest.StartDaemon(t, string(d))
	if err := d.Wait(t.Context(), id); err != nil {
		t.Error(err)
	}
	daemon.Stop()
	if _, err := os.Lstat(filepath.Join(d.Socket(id), "flakeward.sock")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := d.Wait(ctx, id); !errors.Is(err, podsocket.ErrNoDaemon) {
		t.Errorf("without a daemon: %v", err)
	}
	csitest.StartDaemon(t, string(d))
	if err := d.Wait(t.Context(), id); err != nil {
		t.Error(err)
	}
}
