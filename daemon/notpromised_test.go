package daemon_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/internal/must"
)

// fewWorkers has two worker IDs, so that two daemons soon have the same one.
const fewWorkers = "time=41@1ms,worker=1,sequence=12;epoch=2026-01-01"

// onlyWorker makes the daemon's cluster with one worker ID, as of long ago.
func onlyWorker(t *testing.T, c *daemon.Config) {
	t.Helper()
	c.IDs.Layout = fewWorkers
	daemontest.Create(t, *c, func(n *coord.NewCluster) { n.Range = coord.WorkerRange{First: 0, Count: 1} })
}

// behind is a clock whose wall part is behind.
type behind struct {
	clockguard.System
	by time.Duration
}

func (c behind) Now() clockguard.Reading {
	now := c.System.Now()
	now.Wall -= int64(c.by)
	return now
}

// sameWorker starts daemons, each on what config returns, until one has a worker ID. The place
// where a directory begins to assign is drawn from its UUID, so each has it at odds of one in two.
func sameWorker(t *testing.T, worker string, config func() daemon.Config) *running {
	t.Helper()
	for range 100 {
		r := start(t, config())
		if r.info()["worker_id"] == worker {
			return r
		}
		r.Stop()
	}
	t.Fatal("no daemon of 100 was assigned worker ID " + worker)
	return nil
}

// all asks for IDs and adds them to seen. It returns how many were in it before.
func (r *running) all(seen map[int64]bool) (again int) {
	r.t.Helper()
	ids, err := r.client.Do(r.t.Context(), "NEXT", 4096).Int64Slice()
	if err != nil {
		r.t.Errorf("NEXT: %v; the log:\n%s", err, r.log)
	}
	for _, id := range ids {
		if seen[id] {
			again++
		}
		seen[id] = true
	}
	return again
}

// Not promised: two directories know nothing of each other, so their daemons issue the same IDs.
func TestNotPromisedTwoDirectories(t *testing.T) {
	two := func() daemon.Config {
		c := config(dir(t))
		c.IDs.Layout = fewWorkers
		return c
	}
	a := start(t, two())
	b := sameWorker(t, a.info()["worker_id"], two)
	of := [2]map[int64]bool{{}, {}}
	for range 100 {
		var group sync.WaitGroup // at the same time: a whole request takes the whole tick
		for i, r := range []*running{a, b} {
			group.Go(func() {
				for range 10 {
					r.all(of[i])
				}
			})
		}
		group.Wait()
		for id := range of[0] {
			if of[1][id] {
				return
			}
		}
	}
	t.Error("no ID came twice: the documentation says that it may")
}

// Not promised: with the coordinator's directory all is lost that knew what has been
// issued. A clock that is behind then issues it again.
func TestNotPromisedALostDirectory(t *testing.T) {
	t.Parallel()
	if again := lose(t, func(*daemon.Config) {}, func(c *daemon.Config) {
		must.Do(t, os.RemoveAll(coordDir(*c)))
		onlyWorker(t, c)
	}); again == 0 {
		t.Error("no ID came twice: the documentation says that it may")
	}
}

// Not promised: a directory that is put back into the files that are there knows of nothing since.
// A clock that is behind then issues it again.
func TestNotPromisedADirectoryThatIsPutBackInPlace(t *testing.T) {
	t.Parallel()
	old := map[string][]byte{}
	if again := lose(t, func(c *daemon.Config) {
		r := start(t, *c)
		r.all(map[int64]bool{})
		r.Stop()
		each(t, coordDir(*c), func(path string) { old[path] = must.Get(os.ReadFile(path))(t) })
	}, func(c *daemon.Config) {
		each(t, coordDir(*c), func(path string) {
			if was, there := old[path]; there {
				must.Do(t, os.WriteFile(path, was, 0o600))
			} else {
				must.Do(t, os.Remove(path))
			}
		})
	}); again == 0 {
		t.Error("no ID came twice: the documentation says that it may")
	}
}

// each names the files below a directory.
func each(t *testing.T, dir string, do func(path string)) {
	t.Helper()
	must.Do(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			do(path)
		}
		return err
	}))
}

// lose has a daemon issue with a clock that is right, loses its directory, and has another
// one issue under the same worker ID, which is the only one, with a clock that is behind.
// It returns how many IDs came twice.
func lose(t *testing.T, before, lost func(*daemon.Config)) (again int) {
	t.Helper()
	const setBack = 1500 * time.Millisecond
	c := config(dir(t))
	onlyWorker(t, &c)
	before(&c)
	r, seen := start(t, c), map[int64]bool{}
	for begun := time.Now(); time.Since(begun) < setBack; {
		r.all(seen)
	}
	last := time.Now()
	r.Stop()
	for again == 0 && time.Since(last) < timeout { // a start may take so long that the clock is past all that was issued
		lost(&c)
		began := time.Now()
		c.Clock = behind{by: setBack + began.Sub(last)}
		r = start(t, c)
		for again == 0 && time.Since(began) < 2*setBack {
			again += r.all(seen)
		}
		r.Stop()
	}
	return again
}
