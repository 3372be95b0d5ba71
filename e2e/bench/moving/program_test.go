package moving_test

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	bwmarrin "github.com/bwmarrin/snowflake"

	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/process"
	"github.com/flakeward/flakeward/internal/sockettest"
)

const theirLayout = "time=41@1ms,worker=10,sequence=12;epoch=2010-11-04T01:42:54.657Z"

// host is one on which the real daemon runs.
type host struct {
	*testing.T
	program, url, dir string
}

func (h host) flakeward(args ...string) *exec.Cmd {
	c := exec.Command(h.program, args...)
	c.SysProcAttr = process.Orphanless()
	return c
}

func (h host) socket() string { return filepath.Join(h.dir, "s") }

// daemon starts the daemon, which ends with the test, and waits until it is ready.
func (h host) daemon(args ...string) socket {
	h.Helper()
	on := must.Get(process.NewHost(h.program, h.dir, append([]string{
		"--coord", h.url, "--socket", h.socket(), "--host", filepath.Base(h.dir), "--layout", theirLayout, "--max-block", "1m",
	}, args...)...))(h)
	ctx := context.WithoutCancel(h.Context())
	d := must.Get(on.Start(ctx))(h)
	h.Cleanup(func() { must.Do(h, d.Stop(ctx)) })
	must.Do(h, d.Await(h.Context(), "ready"))
	return dial(h.T, h.socket())
}

func (h host) workers(s socket) map[int]bool {
	h.Helper()
	held := map[int]bool{}
	for _, id := range s.next(100) {
		held[int(partsOf(h.T, theirLayout, id).Worker)] = true
	}
	return held
}

// The whole way, with real daemons on a real etcd: beside bwmarrin/snowflake, the range said by the
// first host alone; then in its place, with its worker IDs.
func TestTheWholeWay(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	program, err := process.BuildNormal(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	url := etcdtest.Start(t, etcdtest.Options{Members: 1}).URL("flakeward")
	on := func() host { return host{t, program, url, sockettest.Dir(t)} }
	node, err := bwmarrin.NewNode(0)
	if err != nil {
		t.Fatal(err)
	}
	theirs := func(n int) (ids []int64) {
		for range n {
			ids = append(ids, node.Generate().Int64())
		}
		return ids
	}

	first, second := on(), on()
	create := func(args ...string) string {
		out, err := first.flakeward(append([]string{"cluster", "create", "--empty", "--coord", url, "--layout", theirLayout}, args...)...).CombinedOutput()
		return fmt.Sprintln(string(out), err)
	}
	if out := create("--range", "1022-1023"); !strings.HasPrefix(out, "created: ") {
		t.Fatal(out)
	}
	a, b := first.daemon(), second.daemon()
	their := theirs(1000)
	ours := append(a.next(1000), b.next(1000)...)
	their = append(their, theirs(1000)...)
	held := coord.WorkerRange{First: 1022, Count: 2}
	for _, s := range []socket{a, b} {
		for worker := range first.workers(s) {
			if !held.Has(worker) {
				t.Errorf("worker ID %d, want one of %v", worker, held)
			}
		}
	}
	if out := create("--range", "0-1023"); !strings.Contains(out, "it assigns the worker IDs 1022-1023") {
		t.Errorf("created with another range: %s", out)
	}

	// Theirs stops, and its worker IDs are added.
	last := slices.Max(their)
	out, err := first.flakeward("cluster", "widen", "--coord", url, "--yes", "--above-id", fmt.Sprint(last), "all").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "the cluster assigns the worker IDs 0-1023") {
		t.Fatalf("widen: %v\n%s", err, out)
	}
	// What is added begins later, as whoever had it may still issue. A third daemon waits for that.
	third := daemontest.Config(sockettest.Dir(t))
	clock := &clocktest.Stepped{}
	third.Cluster.Coord, third.IDs.Layout, third.Host, third.Clock, third.Time.Trust = url, theirLayout, "third", clock, true
	waiting := daemontest.Launch(t, third, daemon.Run)
	for again := time.NewTicker(10 * time.Millisecond); !strings.Contains(waiting.Log.String(), string(condition.FloorAhead)); <-again.C {
		if ctx.Err() != nil {
			t.Fatalf("it does not say that it waits:\n%s", waiting.Log)
		}
	}
	clock.By.Store(int64(20 * time.Minute))
	waiting.UntilReady()
	c := dial(t, third.Socket.Path)
	after := c.next(1000)
	for worker := range first.workers(c) {
		if held.Has(worker) {
			t.Errorf("worker ID %d, which another has", worker)
		}
	}
	if low := slices.Min(after); low <= last {
		t.Errorf("their last is %d, and the first of ours with their worker IDs %d", last, low)
	}
	common(t, their, slices.Concat(ours, after, a.next(1000), b.next(1000)))
	out, err = first.flakeward("cluster", "--coord", url).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "0-1023 of 1024") {
		t.Errorf("cluster: %v\n%s", err, out)
	}
}
