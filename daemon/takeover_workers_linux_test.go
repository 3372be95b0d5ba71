package daemon_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/daemon/takeover"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// Two worker IDs are all that there are, so that an update finds a free one or none.
const twoWorkers = "time=41@1ms,worker=1,sequence=21;epoch=2026-01-01"

// Where the newcomer has a worker ID of its own, the daemon that hands over keeps its own until the
// newcomer has everything. Where none is free it gives its own back first, and the newcomer has
// that.
func TestWhenAWorkerIDIsGivenBackAtATakeover(t *testing.T) {
	for name, free := range map[string]bool{"one is free": true, "none is free": false} {
		t.Run(name, func(t *testing.T) {
			c := config(dir(t))
			c.IDs.Layout = twoWorkers
			before := start(t, c)
			if !free {
				other := config(dir(t))
				other.IDs.Layout, other.Cluster.Coord, other.Host = c.IDs.Layout, before.config.Cluster.Coord, "other"
				start(t, other)
			}
			worker := before.info()["worker_id"]
			after := takeOver(t, before)
			after.until("a worker ID", func(info map[string]string) bool { return info["claimed"] == "true" })
			if now := after.info()["worker_id"]; now == worker == free {
				t.Errorf("worker ID %s was held, and %s is", worker, now)
			}
			log := before.log.String()
			handed, released := strings.Index(log, "handed over"), strings.Index(log, "released the worker ID")
			if handed < 0 || released < 0 || handed < released != free {
				t.Errorf("the log of who handed over:\n%s", log)
			}
		})
	}
}

// A worker ID that cannot be given back, as all marks were raised, is issued from, and not thrown
// away for a newcomer that finds none.
func TestAWorkerIDThatCannotBeGivenBackIsKept(t *testing.T) {
	c := config(dir(t))
	c.Grant.Publish = 100 * time.Millisecond
	before := start(t, c)
	before.until("a second grant", func(info map[string]string) bool {
		return info["ceiling_time"] > time.Now().Add(5*time.Second).UTC().Format(time.RFC3339)
	})
	by := operator(t, c.Cluster.Coord)
	must.Get(by.Inspect(t.Context()))(t)
	must.Get(by.Raise(t.Context(), layoutOf(t, c).TickAt(time.Now().Add(time.Hour).UnixNano())))(t)
	before.until("the raise", func(info map[string]string) bool { return info["condition_code"] != "" })
	c.Takeover = true
	newcomer := launchBy(t, c, daemon.Run)
	before.says("cannot be given back")
	before.next()
	if err := newcomer.Refusal(); !errors.As(err, new(*takeover.RefusedError)) {
		t.Error(err)
	}
}

// A newcomer whose worker ID has to be waited for takes over once its clock has passed the floor.
func TestANewcomerTakesOverOnceItsFloorIsPassed(t *testing.T) {
	before := start(t, config(dir(t)))
	layout := must.Get(generator.ParseLayout(before.config.IDs.Layout))(t)
	tick := func(r *running, key string) generator.Tick {
		return generator.Tick(must.Get(strconv.ParseInt(r.info()[key], 10, 64))(t))
	}
	// The cluster began at this floor, which is that of each worker ID: the newcomer's clock is
	// before it.
	began := layout.StartOf(tick(before, "floor"))
	c, clock := before.config, &clocktest.Stepped{}
	clock.By.Store(int64(time.Until(began.Add(-700 * time.Millisecond))))
	c.Takeover, c.Clock = true, clock
	after := launchBy(t, c, runUntilTakenOver)
	must.Do(t, before.End())
	handed := layout.TickAt(clock.Now().Wall)
	after.UntilReady()
	if floor := tick(after, "floor"); handed <= floor {
		t.Errorf("it took over at tick %d by its clock, and issues above %d", handed, floor)
	}
}

// A newcomer that gives up leaves nothing of what it has claimed.
func TestANewcomerThatGivesUpKeepsNoWorkerID(t *testing.T) {
	c := config(dir(t))
	start(t, c).Stop() // it has made the cluster
	c.Takeover = true
	layout := must.Get(generator.ParseLayout(c.IDs.Layout))(t)
	settings := takeover.Settings{Layout: layout.String() + ";datacenter=0", Coord: c.Cluster.Coord}
	l := must.Get(takeover.Listen(c.Socket.Path, "old", func() (takeover.Settings, takeover.Running) { return settings, takeover.Running{} }, hclog.NewNullLogger()))(t)
	defer l.Close() // the file is the test's
	held, gone := 0, make(chan struct{})
	go func() {
		defer close(gone)
		for held < 3 { // as often as a newcomer asks
			s, err := l.Await(t.Context())
			if err != nil || !s.Held {
				t.Errorf("a newcomer is ready as %+v, %v", s, err)
				return
			}
			held++
			_ = s.Close()
		}
	}()
	err := launchBy(t, c, daemon.Run).Refusal()
	<-gone
	left := must.Get(os.ReadDir(filepath.Join(coordDir(c), "claims")))(t)
	if held != 3 || len(left) > 0 {
		t.Errorf("it held a worker ID %d times, gave up with %v, and these claims are left: %v", held, err, left)
	}
}
