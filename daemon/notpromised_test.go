package daemon_test

import (
	"os"
	"sync"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/internal/must"
)

// fewWorkers has two worker IDs, so that two daemons soon have the same one.
const fewWorkers = "time=41@1ms,worker=1,sequence=12;epoch=2026-01-01"

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
// where an embedded coordinator begins to assign is drawn from its UUID, so each has it at odds of
// one in two.
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

// Not promised: two embedded coordinators know nothing of each other, so their daemons issue the
// same IDs.
func TestNotPromisedTwoStateDirectories(t *testing.T) {
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

// Not promised: with an embedded coordinator's state directory all is lost that knew what has been
// issued. A clock that is behind then issues it again.
func TestNotPromisedLostStateDirectory(t *testing.T) {
	const setBack = 3 * time.Second
	c := config(dir(t))
	c.IDs.Layout = fewWorkers
	r := start(t, c)
	worker, seen := r.info()["worker_id"], map[int64]bool{}
	for begun := time.Now(); time.Since(begun) < setBack/2; {
		r.all(seen)
	}
	last := time.Now()
	r.Stop()
	for time.Since(last) < timeout { // a start may take so long that the clock is past all that was issued
		var began time.Time
		r = sameWorker(t, worker, func() daemon.Config {
			must.Do(t, os.RemoveAll(c.StateDir))
			began = time.Now()
			c.Clock = behind{by: setBack + began.Sub(last)}
			return c
		})
		for time.Since(began) < setBack {
			if r.all(seen) > 0 {
				return
			}
		}
		r.Stop()
	}
	t.Error("no ID came twice: the documentation says that it may")
}
