//go:build linux

package failures

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/connect"
	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/process"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// A coordinator loses its data under three daemons that are restarted for ever: each ends with status 2,
// and waits from then on, and says the command. There is no second cluster until somebody makes one.
func TestAWipeIsAnOutageAndNoSecondCluster(t *testing.T) {
	program := must.Get(process.BuildNormal(t.Context(), t.TempDir()))(t)
	for name, begin := range map[string]func(*testing.T) (url string, wipe func()){
		"etcd, keys deleted": func(t *testing.T) (string, func()) {
			c := etcdtest.Start(t, etcdtest.Options{})
			return c.URL("wiped"), func() { c.Wipe("") }
		},
		"etcd, disks emptied": func(t *testing.T) (string, func()) {
			c := etcdtest.Start(t, etcdtest.Options{})
			c.Stop(0)
			nothing := c.Backup()
			c.Start(0)
			return c.URL("wiped"), func() {
				c.Stop(0)
				c.Restore(nothing)
				c.Start(0)
			}
		},
		"ZooKeeper, nodes deleted": func(t *testing.T) (string, func()) {
			e := zktest.Start(t, zktest.Options{})
			return "zk://" + strings.Join(e.Addresses(), ",") + "/wiped", func() { deleteAll(t, e) }
		},
		"ZooKeeper, disks emptied": func(t *testing.T) (string, func()) {
			e := zktest.Start(t, zktest.Options{})
			return "zk://" + strings.Join(e.Addresses(), ",") + "/wiped", func() {
				e.Stop()
				e.Wipe()
				e.Start()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, wipe := begin(t)
			o := must.Get(connect.Operate(connect.Config{URL: url}))(t)
			defer o.Close() // all has been answered
			var hosts []*process.Host
			var daemons []*process.Daemon
			for i := range 3 {
				h := must.Get(process.NewHost(program, filepath.Join(sockettest.Dir(t), "h"), "--coord", url, "--host", strconv.Itoa(i), "--publish", "500ms", "--window", "20s"))(t)
				d := must.Get(h.Start(t.Context()))(t)
				must.Do(t, d.Await(t.Context(), "ready"))
				hosts, daemons = append(hosts, h), append(daemons, d)
			}
			was := must.Get(o.Inspect(t.Context()))(t).UUID
			wipe()
			for i, d := range daemons {
				if gone := d.Gone(); !strings.Contains(gone.Error(), "exit status 2") || !strings.Contains(gone.Error(), "was wiped or replaced") {
					t.Errorf("daemon %d: %v", i, gone)
				}
				daemons[i] = must.Get(hosts[i].Start(t.Context()))(t)
				waits(t, daemons[i])
			}
			if found, err := inspected(t, url); err == nil {
				t.Fatalf("there is a second cluster, %s", found.UUID)
			}
			must.Do(t, hosts[0].Create(t.Context()))
			for _, d := range daemons {
				must.Do(t, d.Await(t.Context(), "ready"))
			}
			if found, err := inspected(t, url); err != nil || found.UUID == was {
				t.Errorf("cluster %s, %v; it was %s", found.UUID, err, was)
			}
			for _, d := range daemons {
				must.Do(t, d.Stop(t.Context()))
			}
		})
	}
}

// waits wants the daemon to say the command that makes a cluster, and to run on.
func waits(t *testing.T, d *process.Daemon) {
	t.Helper()
	for again := time.NewTicker(10 * time.Millisecond); !strings.Contains(d.Tail(), "no-cluster") || !strings.Contains(d.Tail(), "flakeward cluster create"); {
		select {
		case <-again.C:
		case <-d.Ended():
			t.Fatal(d.Gone())
		case <-t.Context().Done():
			t.Fatalf("it says\n%s", d.Tail())
		}
	}
}

func inspected(t *testing.T, url string) (coord.Inspected, error) {
	t.Helper()
	o := must.Get(connect.Operate(connect.Config{URL: url}))(t)
	defer o.Close() // all has been answered
	ctx, cancel := context.WithTimeout(t.Context(), joinTimeout)
	defer cancel()
	return o.Inspect(ctx)
}

// deleteAll deletes the tree, whatever daemons make in it meanwhile.
func deleteAll(t *testing.T, e *zktest.Ensemble) {
	c := e.Client()
	var all func(path string)
	all = func(path string) {
		names, _, _ := c.Children(path) // it may be gone
		for _, name := range names {
			all(path + "/" + name)
		}
		_ = c.Delete(path, -1) // the same
	}
	for {
		all("/wiped")
		if there, _, err := c.Exists("/wiped"); err == nil && !there || t.Context().Err() != nil {
			return
		}
	}
}
