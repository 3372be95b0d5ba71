package update

import (
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/process"
	"github.com/flakeward/flakeward/internal/sockettest"
)

var long = flag.Bool("long", false, "100 updates and 300 that are disturbed, for each coordinator")

// times is how often something is done.
func times(short, all int) int {
	if *long {
		return all
	}
	return short
}

var builtIn string

var binary = sync.OnceValues(func() (_ string, err error) {
	if builtIn, err = os.MkdirTemp("", "update-"); err != nil {
		return "", err
	}
	return process.BuildNormal(context.Background(), builtIn)
})

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if builtIn != "" {
		_ = os.RemoveAll(builtIn)
	}
	os.Exit(code)
}

// onEach runs a test of updates on each coordinator.
func onEach(t *testing.T, test func(*testing.T, *process.Host)) {
	onEachOf(t, must.Get(binary())(t), []string{"--takeover"}, test)
}

// onEachOf runs a test of a program on each coordinator, which a second --coord names.
func onEachOf(t *testing.T, program string, flags []string, test func(*testing.T, *process.Host)) {
	etcd, zookeeper := etcdtest.Start(t, etcdtest.Options{}), zktest.Start(t, zktest.Options{})
	for name, url := range map[string]string{
		"dir": "dir:" + filepath.Join(t.TempDir(), "coord"), "etcd": etcd.URL("update"), "zookeeper": "zk://" + strings.Join(zookeeper.Addresses(), ",") + "/update",
	} {
		t.Run(name, func(t *testing.T) {
			test(t, must.Get(process.NewHost(program, sockettest.Dir(t)+"/h", append([]string{"--coord", url}, flags...)...))(t))
		})
	}
}

func launch(t *testing.T, h *process.Host) *process.Daemon {
	t.Helper()
	d, err := h.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { <-d.Ended() }) // it ends with the context, and its directory is removed next
	return d
}

func start(t *testing.T, h *process.Host) *process.Daemon {
	t.Helper()
	d := launch(t, h)
	if err := d.Await(t.Context(), "ready"); err != nil {
		t.Fatal(err)
	}
	return d
}

// Nobody notices an update: no request fails, no connection is closed, each connection's IDs rise,
// and none comes twice.
func TestUpdatesAreNotNoticed(t *testing.T) {
	onEach(t, func(t *testing.T, h *process.Host) {
		d := start(t, h)
		hiredis, py, c := benchmark(t, h.Socket), redisPy(t, h.Socket), ask(t, h.Socket, 8, false)
		var waits []time.Duration
		for range times(4, 100) {
			c.wait()
			next := start(t, h)
			<-d.Ended()
			if err := next.Await(t.Context(), "holds a worker ID"); err != nil {
				t.Fatal(err)
			}
			waits = append(waits, c.wait())
			d = next
		}
		hiredis()
		py()
		n := distinct(t, c.end())
		slices.Sort(waits)
		t.Logf("FIGURE %d updates, %d IDs recorded: the longest wait of an update is %v in the middle and %v at most",
			len(waits), n, waits[len(waits)/2].Round(time.Millisecond), waits[len(waits)-1].Round(time.Millisecond))
		if n < 1000 {
			t.Errorf("only %d IDs came: nothing is shown", n)
		}
	})
}

// A newcomer that is killed or stopped at any time of an update leaves somebody serving, and no ID
// comes twice. Where everything was handed over, the connections end with the newcomer.
func TestUpdatesThatAreDisturbed(t *testing.T) {
	onEach(t, func(t *testing.T, h *process.Host) {
		random := rand.New(rand.NewPCG(1, 2))
		d := start(t, h)
		all, outcomes, longest := []int64(nil), map[string]int{}, time.Duration(0)
		for range times(8, 300) {
			c := ask(t, h.Socket, 4, true)
			next := launch(t, h)
			// From before it asks to after it serves.
			<-time.After(time.Duration(random.Int64N(int64(80 * time.Millisecond))))
			victim, left, what := next, d, "the newcomer"
			if random.IntN(3) == 0 {
				victim, left, what = d, next, "the running daemon"
			}
			switch random.IntN(2) {
			case 0:
				_ = victim.Kill() // it may have ended
				what += " killed"
			case 1:
				if victim.Pause() == nil {
					<-time.After(time.Duration(random.Int64N(int64(500 * time.Millisecond))))
					_ = victim.Resume()
				}
				what += " stopped"
			}
			begun := time.Now()
			d = survivor(t, h, left, victim)
			longest = max(longest, time.Since(begun))
			all = append(all, c.end()...)
			outcomes[what]++
		}
		t.Logf("FIGURE %d IDs, %v; served after %v at most", distinct(t, all), outcomes, longest.Round(time.Millisecond))
	})
}

// survivor is who serves in the end: one of the two, or, where both are gone, the next.
func survivor(t *testing.T, h *process.Host, a, b *process.Daemon) *process.Daemon {
	t.Helper()
	over := make(chan struct{})
	go func() {
		<-a.Ended()
		<-b.Ended()
		close(over)
	}()
	if !answers(t, h.Socket, over) {
		return start(t, h)
	}
	// Where both are there, one is about to end: a newcomer without what it came for, or who was taken
	// over from.
	select {
	case <-a.Ended():
		return b
	case <-b.Ended():
		return a
	}
}

// Where no worker ID is free the daemon that runs gives its own back, and the newcomer has it.
func TestAnUpdateWithoutAFreeWorkerID(t *testing.T) {
	const layout = "time=41@1ms,worker=1,sequence=21;epoch=2026-01-01"
	onEach(t, func(t *testing.T, h *process.Host) {
		h.Flags = append(h.Flags, "--layout", layout)
		other := *h
		other.Socket += "2"
		other.Flags = append(slices.Clone(h.Flags), "--host", "another")
		d := start(t, h)
		start(t, &other)
		c := ask(t, h.Socket, 8, false)
		for range times(4, 20) {
			next := start(t, h)
			<-d.Ended()
			d = next
		}
		distinct(t, c.end())
	})
}
