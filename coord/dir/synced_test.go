//go:build drill

package dir_test

import (
	"path/filepath"
	"testing"

	"github.com/flakeward/flakeward/audit/history"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/internal/fault"
	"github.com/flakeward/flakeward/internal/must"
)

// TestDrillTheRecordsThatWereSynced: audit reads each of them, in the order of the writes.
func TestDrillTheRecordsThatWereSynced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "records")
	t.Setenv(fault.Records, path)
	c := opened(t, filepath.Join(t.TempDir(), "coord"), "a", 2)
	claim := claimed(t, c)
	must.Do(t, claim.Extend(t.Context(), coord.Progress{Ceiling: 500, Issued: 7}))
	versions := must.Get(history.Directory(path))(t)
	if n := len(versions); n != 3 || versions[0].Holder != claim.Opening() || versions[1].Ceiling != 100 || versions[2].Ceiling != 500 || versions[2].Issued != 7 {
		t.Errorf("an opening and two grants are noted as %+v", versions)
	}
}
