// Package cluster has several daemons on one coordinator, which is out of their reach, or put back to
// what it was some time before. Each test runs on every coordinator that is of several hosts, against
// real servers and real backups of them; every ID that a daemon hands out is kept and compared exactly.
package cluster

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/flakeward/flakeward/audit/received"
	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/e2e/load"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/fault/inject"
	"github.com/flakeward/flakeward/internal/info"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
	"github.com/flakeward/flakeward/internal/wire"
)

var long = flag.Bool("long", false, "cut off for a minute")

func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("test.parallel", "6") // what they do most is to wait, for the end of a session or of a grant
	os.Exit(m.Run())
}

// timeout bounds every wait. It is long, for only a test that fails waits for it.
const timeout = 4 * time.Minute

// testCluster is a coordinator, the daemons on it, and all IDs that they hand out.
type testCluster struct {
	*testing.T
	scheme, address string
	backup          func() (restore func()) // restore puts back what there was
	sessions        func() ([]int64, error) // of each claim node
	layout          *generator.Layout

	mu    sync.Mutex
	lives map[*node][]int64
}

// on runs a test on each coordinator. The window is the cluster's. What has been handed out is judged
// at its end.
func on(t *testing.T, window time.Duration, test func(w *testCluster)) {
	t.Helper()
	t.Parallel()
	for scheme, start := range map[string]func(*testCluster){"etcd": startEtcd, "zk": startZooKeeper} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			w := &testCluster{T: t, scheme: scheme, layout: must.Get(generator.ParseLayout("flakeward"))(t), lives: map[*node][]int64{}}
			start(w)
			must.Do(w, inject.MakeOldCluster(w.Context(), w.url(w.address), w.layout.String(), window))
			test(w)
			w.judge()
		})
	}
}

func startEtcd(w *testCluster) {
	servers := etcdtest.Start(w.T, etcdtest.Options{Members: 1, Dir: w.TempDir()})
	w.address = servers.Endpoints()[0]
	w.backup = func() func() {
		servers.StopAll()
		kept := servers.Backup()
		servers.StartAll()
		return func() {
			servers.StopAll()
			servers.Restore(kept)
			servers.StartAll()
		}
	}
	w.sessions = func() (all []int64, err error) {
		found, err := servers.Client().Get(w.Context(), "/drill/claims/", clientv3.WithPrefix())
		if err != nil {
			return nil, err
		}
		for _, node := range found.Kvs {
			all = append(all, node.Lease)
		}
		return all, nil
	}
}

func startZooKeeper(w *testCluster) {
	servers := zktest.Start(w.T, zktest.Options{Members: 1})
	w.address = servers.Addresses()[0]
	w.backup = func() func() {
		servers.Stop()
		kept := servers.Backup()
		servers.Start()
		return func() {
			servers.Stop()
			servers.Restore(kept)
			servers.Start()
		}
	}
	w.sessions = func() (all []int64, err error) {
		client := servers.Client()
		names, _, err := client.Children("/drill/claims")
		for _, name := range names {
			there, node, e := client.Exists("/drill/claims/" + name)
			if err = errors.Join(err, e); there {
				all = append(all, node.EphemeralOwner)
			}
		}
		return all, err
	}
}

// url is what --coord takes, by way of an address.
func (w *testCluster) url(address string) string { return w.scheme + "://" + address + "/drill" }

// handedOut keeps IDs that a life of a daemon handed out.
func (w *testCluster) handedOut(n *node, ids ...int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lives[n] = append(w.lives[n], ids...)
}

// judge compares all IDs.
func (w *testCluster) judge() {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	named := map[string][]int64{}
	for n, ids := range w.lives {
		named[fmt.Sprintf("%s, %p", n.Config.Host, n)] = ids
	}
	duplicates := received.FindDuplicates(slices.Concat(slices.Collect(maps.Values(named))...))
	shared := received.FindSharedTicks(w.layout, named)
	if duplicates.Repeated > 0 || shared.Shared > 0 || shared.Undecodable > 0 {
		w.Errorf("%d IDs: %d duplicates %v; %d shared ticks, %d undecodable: %q", duplicates.IDs, duplicates.Repeated, duplicates.Examples,
			shared.Shared, shared.Undecodable, shared.Examples)
	}
	w.Logf("FIGURE %d IDs of %d lives, %d duplicates, %d shared ticks", duplicates.IDs, len(named), duplicates.Repeated, shared.Shared)
}

// config is a daemon's, on a host of its own. It publishes often, so that a test is short.
func (w *testCluster) config(host string) daemon.Config {
	c := daemontest.Config(sockettest.Dir(w.T))
	c.Host, c.Cluster.Coord = host, w.url(w.address)
	c.Grant.Publish = 300 * time.Millisecond
	c.Waiting.MaxBlock = 10 * time.Second // what only a busy machine does shall show as a gap, and not as a refusal
	return c
}

// soon waits until ready says so.
func (w *testCluster) soon(what string, ready func() bool) {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	for !ready() {
		if (clockguard.System{}).Sleep(ctx, 5*time.Millisecond) != nil {
			w.Fatalf("%s: not within %v", what, timeout)
		}
	}
}

// ticks is how many ticks a time has.
func (w *testCluster) ticks(d time.Duration) generator.Tick {
	return generator.Tick(d / w.layout.TickLength())
}

// tick is the clock's.
func (w *testCluster) tick() generator.Tick { return w.layout.TickAt(time.Now().UnixNano()) }

// node is one life of a daemon, in this process.
type node struct {
	*daemontest.Daemon
	w     *testCluster
	clock *clocktest.Stepped // nil: the machine's
}

// launch starts a daemon and does not wait for it.
func (w *testCluster) launch(c daemon.Config) *node {
	w.Helper()
	return &node{Daemon: daemontest.Launch(w, c, daemon.Run), w: w}
}

// start starts a daemon and waits until it can issue.
func (w *testCluster) start(c daemon.Config) *node {
	w.Helper()
	n := w.launch(c)
	n.UntilReady()
	return n
}

// take asks for n IDs, 1 or more.
func (n *node) take(count int) ([]int64, error) {
	ids, err := load.Ask(n.w.Context(), n.Config.Socket.Path, func(r *wire.Reader) ([]int64, error) { return r.Ints(nil) }, "NEXT", strconv.Itoa(count))
	n.w.handedOut(n, ids...)
	return ids, err
}

// must is take of a daemon that serves.
func (n *node) must(count int) {
	n.w.Helper()
	_, err := n.take(count)
	must.Do(n.w, err)
}

// refusal takes one ID and returns the text of the refusal, empty if there was an ID.
func (n *node) refusal() string {
	n.w.Helper()
	_, err := n.take(1)
	var refused wire.Refused
	if err != nil && !errors.As(err, &refused) {
		n.w.Fatalf("%s answers neither with an ID nor with a refusal: %v", n.Config.Host, err)
	}
	return string(refused)
}

// number is an integer of INFO.
func (n *node) number(key string) int64 {
	n.w.Helper()
	text := must.Get(load.Ask(n.w.Context(), n.Config.Socket.Path, (*wire.Reader).Bulk, "INFO"))(n.w)
	value, _ := info.Parse(text).Get(key)
	return must.Get(strconv.ParseInt(value, 10, 64))(n.w)
}

func (n *node) holds() int              { n.w.Helper(); return int(n.number("worker_id")) }
func (n *node) granted() generator.Tick { n.w.Helper(); return generator.Tick(n.number("ceiling")) }
func (n *node) floor() generator.Tick   { n.w.Helper(); return generator.Tick(n.number("floor")) }

// contains reports whether text has all of parts.
func contains(text string, parts ...string) bool {
	return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(text, p) })
}
