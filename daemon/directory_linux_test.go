package daemon_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/internal/must"
)

// A directory that is put in the place of the one that a daemon runs with ends the daemon's lane,
// also while nothing can be written.
func TestADirectoryThatIsReplaced(t *testing.T) {
	t.Parallel()
	path := filepath.Join(dir(t), "coord")
	c := config(dir(t))
	c.Cluster.Coord = "dir:" + path
	c.Grant.Publish = 100 * time.Millisecond
	r := start(t, c)
	r.next()
	hangUp := holdOn(r)
	lock := must.Get(os.Open(path))(t)
	defer lock.Close()
	must.Do(t, unix.Flock(int(lock.Fd()), unix.LOCK_EX))
	must.Do(t, os.Rename(path, path+".0"))
	r.shows(condition.OtherCluster)
	hangUp()
	if err := r.End(); !errors.Is(err, coord.ErrOtherCluster) {
		t.Errorf("the daemon ended with %v", err)
	}
}
