package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

// TestACopiedEmbeddedCoordinatorIsAnotherCluster: a daemon on a copy of a state directory with an
// embedded coordinator in it says another cluster's UUID than its original, starts all the same,
// and begins above what the copy says that was issued. Started again where it is, it keeps that
// UUID.
func TestACopiedEmbeddedCoordinatorIsAnotherCluster(t *testing.T) {
	c := config(dir(t))
	original := start(t, c)
	last := original.next()
	first := original.info()["cluster_id"]
	original.Stop()

	copied := config(dir(t))
	must.Do(t, os.CopyFS(copied.StateDir, os.DirFS(c.StateDir)))
	for _, path := range []string{copied.StateDir, filepath.Join(copied.StateDir, "etcd")} {
		must.Do(t, os.Chmod(path, 0o700))
	}
	r := start(t, copied)
	if id := r.next(); id <= last {
		t.Errorf("ID %d after %d", id, last)
	}
	second := r.info()["cluster_id"]
	if second == first || second == "" {
		t.Errorf("the copy is of cluster %q, as its original", second)
	}
	if !strings.Contains(r.log.String(), "was not written here") || !strings.Contains(r.log.String(), " why=journal-copied") || !strings.Contains(r.log.String(), "another cluster from now on") {
		t.Errorf("the log does not say what was found:\n%s", r.log)
	}
	r.Stop()
	again := start(t, copied)
	if got := again.info()["cluster_id"]; got != second {
		t.Errorf("started again it is of cluster %q, want %q", got, second)
	}
	again.Stop()

	back := start(t, c)
	if got := back.info()["cluster_id"]; got != first {
		t.Errorf("the original is of cluster %q, want %q", got, first)
	}
}
