package daemon_test

import (
	"os"
	"testing"
	"time"

	"github.com/flakeward/flakeward/internal/must"
)

// A daemon on a copy of the coordinator's directory issues nothing, and says what to do. The original
// goes on.
func TestACopiedDirectoryIssuesNothing(t *testing.T) {
	c := config(dir(t))
	original := start(t, c)
	original.next()
	original.Stop()

	copied := config(dir(t))
	must.Do(t, os.CopyFS(coordDir(copied), os.DirFS(coordDir(c))), os.Chmod(coordDir(copied), 0o700))
	copied.Waiting.MaxBlock = 100 * time.Millisecond
	r := launch(t, copied)
	r.untilServed()
	r.says("cluster adopt")
	if id, err := r.do("NEXT"); err == nil {
		t.Errorf("a copy issues ID %v", id)
	}
	start(t, c).next()
}
