package inject

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/internal/fault"
)

// TestAFaultThatCannotBeHadEndsTheStart, with an error that names what was asked for. Nothing is
// made.
func TestAFaultThatCannotBeHadEndsTheStart(t *testing.T) {
	malformed := filepath.Join(t.TempDir(), "offset")
	put(t, malformed, "yesterday")
	for _, tt := range []struct{ variable, value, says string }{
		{fault.Clock, malformed, malformed},
		{fault.Clock, filepath.Dir(malformed), "drill clock"},
		{fault.Evidence, filepath.Join(t.TempDir(), "missing"), fault.Evidence},
	} {
		t.Run(tt.variable, func(t *testing.T) {
			t.Setenv(tt.variable, tt.value)
			c := daemon.DefaultConfig()
			dir := filepath.Join(t.TempDir(), "coord")
			c.Cluster.Coord = "dir:" + dir
			c.Socket.Path = filepath.Join(t.TempDir(), "s")
			if err := Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("Run with %q: %v, want an error with %q", tt.value, err, tt.says)
			}
			if _, err := os.Stat(dir); !os.IsNotExist(err) {
				t.Errorf("the directory: %v, want none", err)
			}
		})
	}
}

// TestADaemonHasWhatTheEnvironmentNames, and without it what it had.
func TestADaemonHasWhatTheEnvironmentNames(t *testing.T) {
	c, end, err := equip(daemon.Config{})
	if err != nil || c.Cluster.FUSE || c.Clock != nil {
		t.Fatalf("without any fault: %+v, %v", c, err)
	}
	end()
	path := filepath.Join(t.TempDir(), "offset")
	put(t, path, "-1h\n")
	t.Setenv(fault.Clock, path)
	t.Setenv(fault.FUSE, "1")
	c, end, err = equip(daemon.Config{})
	if err != nil || !c.Cluster.FUSE || c.Clock == nil {
		t.Fatalf("with faults: %+v, %v", c, err)
	}
	defer end()
	off := time.Duration(c.Clock.Now().Wall - clockguard.System{}.Now().Wall)
	if off < -61*time.Minute || off > -59*time.Minute {
		t.Errorf("the clock is off by %v, want about -1h", off)
	}
}
