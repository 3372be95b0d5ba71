package update

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/e2e/load"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/process"
	"github.com/flakeward/flakeward/internal/sockettest"
)

var long = flag.Bool("long", false, "100 updates and 5 disturbed in each way at each step, for each coordinator")

// times is how often something is done.
func times(short, all int) int {
	if *long {
		return all
	}
	return short
}

var binary, withBinary = process.Once(process.BuildNormal)

func TestMain(m *testing.M) { os.Exit(withBinary(m.Run)) }

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
	d := must.Get(h.Start(t.Context()))(t)
	t.Cleanup(func() { <-d.Ended() }) // it ends with the context, and its directory is removed next
	return d
}

func start(t *testing.T, h *process.Host) *process.Daemon {
	t.Helper()
	d := launch(t, h)
	must.Do(t, d.Await(t.Context(), "ready"))
	return d
}

// Nobody notices an update: no request fails, no connection is closed, each connection's IDs rise,
// and none comes twice.
func TestUpdatesAreNotNoticed(t *testing.T) {
	onEach(t, func(t *testing.T, h *process.Host) {
		d := start(t, h)
		hiredis, py := benchmark(t, h.Socket), redisPy(t, h.Socket)
		updated(t, h, d, ask(t, h.Socket, 8, false), times(4, 100))
		hiredis()
		py()
	})
}

// updated has one daemon after the other take over from d, under clients, and ends these.
func updated(t *testing.T, h *process.Host, d *process.Daemon, c *clients, updates int) {
	t.Helper()
	began := c.wait()
	var waits []time.Duration
	for range updates {
		c.wait()
		next := start(t, h)
		<-d.Ended()
		must.Do(t, next.Await(t.Context(), "holds a worker ID"))
		waits = append(waits, c.wait())
		d = next
	}
	n := distinct(t, c.end())
	slices.Sort(waits)
	t.Logf("FIGURE %d updates of %d connections, %d IDs: the longest wait of an update is %v in the middle and %v at most, and was %v before",
		updates, len(c.all), n, waits[len(waits)/2].Round(time.Millisecond), waits[len(waits)-1].Round(time.Millisecond), began.Round(time.Millisecond))
	if n < 1000 {
		t.Errorf("only %d IDs came: nothing is shown", n)
	}
}

// Many connections of many tenants, with bursts, are handed over as a few are: while they ask
// 50,000 times a second, and while they ask for all that there is.
func TestAnUpdateOfManyIsNotNoticed(t *testing.T) {
	program, etcd := must.Get(binary())(t), etcdtest.Start(t, etcdtest.Options{})
	for _, rate := range []int{50_000, 0} {
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			h := must.Get(process.NewHost(program, sockettest.Dir(t)+"/h", "--coord", etcd.URL(fmt.Sprintf("many-%d", rate)), "--takeover",
				"--layout", "time=41@1ms,worker=8,tenant=4,sequence=10;epoch=2026-01-01", "--burst", "100ms", "--max-block", "1m"))(t)
			d, c, connections := start(t, h), &clients{t: t}, times(200, 2000)
			for i := range connections {
				c.open(h.Socket, load.Config{Request: []string{"NEXT", "TENANT", fmt.Sprint(i % 10)}, Row: 1 + i%longestRow, Window: 1, Rate: rate / connections})
			}
			<-time.After(500 * time.Millisecond)
			updated(t, h, d, c, times(1, 10))
		})
	}
}

// SIGUSR2 has the program started anew, as it is now on disk, and that takes over under clients
// that never try again.
func TestASignalStartsTheProgramAnew(t *testing.T) {
	h := must.Get(process.NewHost(must.Get(binary())(t), sockettest.Dir(t)+"/h"))(t)
	before := start(t, h)
	clients := ask(t, h.Socket, 4, false)
	must.Do(t, syscall.Kill(before.PID(), syscall.SIGUSR2), before.Await(t.Context(), "took over")) // the two have one standard error
	after := must.Get(strconv.Atoi(said(t, h, before)["process_id"]))(t)
	if after == before.PID() {
		t.Fatal("the first process serves")
	}
	distinct(t, clients.end())
	must.Do(t, syscall.Kill(after, syscall.SIGTERM))
	<-before.Ended() // with it the other one's standard error
}
