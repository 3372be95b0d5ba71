//go:build !drill

package clockguard

import (
	"os"
	"path/filepath"
	"testing"
)

// TestANormalBuildHasNoDrillClock: the drill's file sets nothing off here.
func TestANormalBuildHasNoDrillClock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "offset")
	if err := os.WriteFile(path, []byte("-1h\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FLAKEWARD_DRILL_CLOCK", path)
	c, err := Open()
	if err != nil || c != (System{}) {
		t.Errorf("Open() = %#v, %v, want the machine's clock itself", c, err)
	}
	if err := Close(c); err != nil {
		t.Error(err)
	}
}
