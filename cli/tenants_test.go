package cli

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

const tenanted = "time=41@1ms,worker=6,tenant=4,sequence=12;epoch=2026-01-01T00:00:00Z"

func TestTheFileHasTenants(t *testing.T) {
	file := filepath.Join(t.TempDir(), "flakeward.yaml")
	must.Do(t, os.WriteFile(file, []byte("layout: "+tenanted+"\ntenants:\n  orders: 3\n  mail: 09\n"), 0o600))
	got := must.Get(configOf(t, "--config", file))(t)
	if want := map[string]uint64{"orders": 3, "mail": 9}; !maps.Equal(got.IDs.Tenants, want) {
		t.Errorf("got %v, want %v", got.IDs.Tenants, want)
	}
}
