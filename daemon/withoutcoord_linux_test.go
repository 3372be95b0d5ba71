package daemon_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/daemon/singleton"
	"github.com/flakeward/flakeward/internal/isolated"
)

// Two daemons of which nobody has said that they belong together, or that they do not: the second
// is refused.
func TestSecondDaemonWithoutACoordinatorIsRefused(t *testing.T) {
	if isolated.Test(t, syscall.CLONE_NEWNET) {
		return
	}
	t.Setenv("XDG_RUNTIME_DIR", dir(t))
	c := config(dir(t))
	c.Cluster.Coord = ""
	first := start(t, c)
	if got := first.info(); got["coordinator"] != "embedded:" || got["unique_within"] != "state-directory" {
		t.Errorf("INFO says coordinator %q, unique within %q", got["coordinator"], got["unique_within"])
	}

	other := config(dir(t))
	other.Cluster.Coord = ""
	err := launch(t, other).Refusal()
	var held *singleton.HeldError
	if !errors.As(err, &held) || held.PID != os.Getpid() {
		t.Fatalf("the second daemon ended with %v", err)
	}
	for _, text := range []string{fmt.Sprint("process ", os.Getpid()), "--coord etcd://", "--coord zk://", "--coord embedded:"} {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q does not say %q", err, text)
		}
	}

	// Whoever names a state directory twice is told that instead.
	again := c
	again.Socket.Path += "2"
	var used *journal.InUseError
	if err := launch(t, again).Refusal(); !errors.As(err, &used) {
		t.Errorf("on the same state directory, the second daemon ended with %v", err)
	}

	known := config(dir(t))
	known.Cluster.Coord = "embedded:"
	start(t, known).next()

	first.Stop()
	start(t, other).next()
}

// What went wrong with a start does not keep the next from the locks.
func TestStartThatFailsFreesItsLocks(t *testing.T) {
	if isolated.Test(t, syscall.CLONE_NEWNET) {
		return
	}
	t.Setenv("XDG_RUNTIME_DIR", dir(t))
	c := config(dir(t))
	c.Cluster.Coord = ""
	bad := c
	bad.Socket.Group = "no such group"
	if err := launch(t, bad).Refusal(); err == nil || !strings.Contains(err.Error(), "no such group") {
		t.Fatalf("the daemon ended with %v", err)
	}
	start(t, c).next()
}
