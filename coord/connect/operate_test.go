package connect

import (
	"os"
	"testing"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/internal/must"
)

// An operator makes nothing by looking.
func TestOperateADirectory(t *testing.T) {
	dir := t.TempDir()
	o := must.Get(Operate(Config{URL: "dir:" + dir}))(t)
	_, err := o.Inspect(t.Context())
	must.Fail(t, err, coord.ErrNoCluster)
	coordtest.Close(t, o)
	if left := must.Get(os.ReadDir(dir))(t); len(left) != 0 {
		t.Errorf("looking made %v", left)
	}
}
