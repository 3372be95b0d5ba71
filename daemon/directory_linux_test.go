package daemon_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/internal/must"
)

// Two daemons of a host with one directory are one cluster, each with a worker ID of its own, and
// say that IDs are unique on this host only.
func TestTwoDaemonsWithADirectory(t *testing.T) {
	t.Parallel()
	url := "dir:" + filepath.Join(dir(t), "coord")
	one, other := config(dir(t)), config(dir(t))
	one.Cluster.Coord, other.Cluster.Coord = url, url
	a, b := start(t, one), start(t, other)
	of, with := a.info(), b.info()
	if of["cluster_id"] != with["cluster_id"] || of["worker_id"] == with["worker_id"] {
		t.Errorf("worker IDs %s and %s of clusters %s and %s", of["worker_id"], with["worker_id"], of["cluster_id"], with["cluster_id"])
	}
	if of["unique_within"] != "host" || !strings.Contains(a.log.String(), "unique on this host only") {
		t.Errorf("unique within %s; the log:\n%s", of["unique_within"], a.log)
	}
	seen := map[int64]bool{}
	for range 100 {
		for _, r := range []*running{a, b} {
			id := r.next()
			if seen[id] {
				t.Fatalf("ID %d twice", id)
			}
			seen[id] = true
		}
	}
	a.Stop()
	again := start(t, one)
	if got := again.info()["worker_id"]; got == with["worker_id"] {
		t.Errorf("worker ID %s is held twice", got)
	}
	if id := again.next(); seen[id] {
		t.Errorf("ID %d twice", id)
	}
}

// A directory that is put in the place of the one that a daemon runs with ends the daemon's lane, also
// while nothing can be written.
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
