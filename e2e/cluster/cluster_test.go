// Package cluster holds the drills of a cluster: many daemons on one coordinator, and
// each thing that can go wrong between them. Each drill is written once and runs on
// every back-end, against real servers; every ID that a daemon hands out is kept and
// compared exactly. The short forms are part of the tests; with -long each drill lasts
// as long as it would take to show it to somebody, and prints its figures.
package cluster

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/audit/received"
	"github.com/flakeward/flakeward/cli"
	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/connect"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/fault/inject"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
)

var long = flag.Bool("long", false, "run each drill in its long form")

func TestMain(m *testing.M) {
	flag.Parse()
	if !*long {
		// What the short forms do most is to wait, for the end of a session or of a grant.
		_ = flag.Set("test.parallel", "6")
	}
	os.Exit(m.Run())
}

// timeout bounds every wait. It is long, for only a drill that fails waits for it.
const timeout = 4 * time.Minute

// testCluster is a coordinator, the daemons on it, and all IDs that they hand out.
type testCluster struct {
	*testing.T
	servers
	backend string
	url     string // of the coordinator, for --coord
	layout  *generator.Layout
	window  time.Duration // of the cluster
	dir     string        // short enough for sockets in it

	mu    sync.Mutex
	hosts int
	lives map[string][]int64
	watch coord.Coordinator
	nodes []*node

	made sync.Once // the cluster
}

// on runs a drill on each back-end with that many servers. What has been handed out is judged at
// its end.
func on(t *testing.T, members int, drill func(w *testCluster)) {
	t.Helper()
	t.Parallel()
	for _, b := range backends {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			dir := sockettest.Dir(t)
			w := &testCluster{T: t, backend: b.name, window: 10 * time.Minute, dir: dir, lives: map[string][]int64{}}
			w.setLayout("flakeward")
			w.servers = b.start(t, members)
			w.url = w.urlOf(w.addresses(), "drill")
			defer w.stopAll()
			drill(w)
			w.judge()
		})
	}
}

func (w *testCluster) setLayout(text string) {
	w.Helper()
	layout, err := generator.ParseLayout(text)
	if err != nil {
		w.Fatal(err)
	}
	w.layout = layout
}

// handedOut keeps IDs that a life of a daemon handed out.
func (w *testCluster) handedOut(life string, ids ...int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lives[life] = append(w.lives[life], ids...)
}

// judge compares all IDs.
func (w *testCluster) judge() {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	duplicates := received.FindDuplicates(slices.Concat(slices.Collect(maps.Values(w.lives))...))
	shared := received.FindSharedTicks(w.layout, w.lives)
	if duplicates.Repeated > 0 || shared.Shared > 0 || shared.Undecodable > 0 {
		w.Errorf("%d IDs: %d duplicates %v; %d shared ticks, %d undecodable: %q", duplicates.IDs, duplicates.Repeated, duplicates.Examples,
			shared.Shared, shared.Undecodable, shared.Examples)
	}
	w.figure("%d IDs of %d lives, %d duplicates, %d shared ticks", duplicates.IDs, len(w.lives), duplicates.Repeated, shared.Shared)
}

// figure reports something that was measured.
func (w *testCluster) figure(format string, args ...any) {
	w.Helper()
	w.Logf("FIGURE %s", fmt.Sprintf(format, args...))
}

// config is a daemon's, on a host of its own. It publishes often, so that a drill is short; its
// session's life is what it is everywhere: a drill that waits for the end of one sets sessionTTL.
func (w *testCluster) config(host string) daemon.Config {
	w.made.Do(func() { must.Do(w, inject.MakeOldCluster(w.Context(), w.url, w.layout.String(), w.window)) })
	w.mu.Lock()
	w.hosts++
	dir := filepath.Join(w.dir, fmt.Sprint(w.hosts))
	w.mu.Unlock()
	if err := os.Mkdir(dir, 0o700); err != nil {
		w.Error(err)
	}
	c := daemon.DefaultConfig()
	c.Socket.Path = filepath.Join(dir, "s")
	c.Host = host
	c.IDs.Layout = w.layout.String()
	c.Cluster.Coord = w.url
	c.Grant.Publish = 300 * time.Millisecond
	c.Waiting.MaxBlock = maxBlock
	return c
}

// calm is a configuration for a drill with many daemons, each of which writes as seldom as one does
// that was told nothing.
func (w *testCluster) calm(host string) daemon.Config {
	c, d := w.config(host), daemon.DefaultConfig()
	c.Grant = d.Grant
	return c
}

// maxBlock is for how long daemons let requests wait: what only a busy machine with a slow disk does
// shall show as a gap, and not as a refusal.
const maxBlock = 10 * time.Second

// sessionTTL is the shortest that a daemon takes.
const sessionTTL = 2 * time.Second

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

// observer is a coordinator that only looks. It joins the cluster, so it is asked for after the
// first daemon has.
func (w *testCluster) observer() coord.Coordinator {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watch == nil {
		w.watch = w.connect("observer", w.url)
	}
	return w.watch
}

// connect opens a coordinator and joins. It is closed with the drill.
func (w *testCluster) connect(incarnation, url string) coord.Coordinator {
	w.Helper()
	c, err := connect.Open(w.Context(), connect.Config{URL: url, TTL: daemon.DefaultConfig().Cluster.TTL, Identity: coord.Identity{Host: incarnation, PID: 1, Incarnation: incarnation}, Log: hclog.NewNullLogger()})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = c.Close() })
	w.soon("a cluster to join", func() bool {
		ctx, cancel := context.WithTimeout(w.Context(), 5*time.Second)
		defer cancel()
		_, err := coordtest.CreateAndJoin(ctx, c, w.coordLayout())
		return err == nil
	})
	return c
}

func (w *testCluster) coordLayout() coord.Layout {
	return coord.Layout{Text: fmt.Sprintf("%s;datacenter=0", w.layout), Workers: w.layout.Workers()}
}

// members are the live claims.
func (w *testCluster) members() []coord.Member {
	w.Helper()
	o := w.observer()
	var members []coord.Member
	var err error
	w.soon("a listing of the members", func() bool {
		ctx, cancel := context.WithTimeout(w.Context(), 5*time.Second)
		defer cancel()
		members, err = o.Members(ctx)
		return err == nil
	})
	return members
}

// holder is the live claim of a worker ID, nil if there is none.
func (w *testCluster) holder(worker int) *coord.Member {
	w.Helper()
	for _, m := range w.members() {
		if m.Worker == worker {
			return &m
		}
	}
	return nil
}

// claimSessions are the sessions of the claim nodes that there are, in use or not.
func (w *testCluster) claimSessions() (sessions []int64) {
	w.Helper()
	w.soon("a listing of the claim nodes", func() bool {
		var err error
		sessions, err = w.claims("drill")
		return err == nil
	})
	return sessions
}

// claimNodes is how many claim nodes there are.
func (w *testCluster) claimNodes() int {
	w.Helper()
	return len(w.claimSessions())
}

// tick is the clock's.
func (w *testCluster) tick() generator.Tick { return w.layout.TickAt(time.Now().UnixNano()) }

// flakeward runs a command of the program, which must succeed, and returns what it prints.
func (w *testCluster) flakeward(stdin io.Reader, args ...string) string {
	w.Helper()
	var out, complaints bytes.Buffer
	if err := cli.Run(w.Context(), append([]string{"flakeward"}, args...), stdin, &out, &complaints, nil); err != nil {
		w.Fatalf("%q: %v\n%s%s", args, err, &out, &complaints)
	}
	return out.String()
}

// contains reports whether text has all of parts.
func contains(text string, parts ...string) bool {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			return false
		}
	}
	return true
}
