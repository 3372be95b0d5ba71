package cli

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/flakeward/flakeward/cli/configfile"
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

// FuzzTenants: the tenants of any file are refused with a line, or have a number each.
func FuzzTenants(f *testing.F) {
	f.Add("tenants: {orders: 3, mail: 04}")
	f.Add("tenants:\n  a: 18446744073709551615\n  7: -1\n")
	f.Add("tenants: {a: {id: 3}, b: {}}")
	f.Fuzz(func(t *testing.T, text string) {
		values, err := configfile.Parse([]byte(text), fileSettings())
		if err != nil {
			return
		}
		all, err := readTenants("f", values[tenantsName])
		if err != nil {
			var at *configfile.Error
			if !errors.As(err, &at) || at.Line < 1 || all != nil || ExitCode(err) != ExitUsage {
				t.Errorf("%q: %+v, %v", text, all, err)
			}
			return
		}
		if len(all) != len(values[tenantsName].Entries) {
			t.Errorf("%q: %d tenants", text, len(all))
		}
	})
}
