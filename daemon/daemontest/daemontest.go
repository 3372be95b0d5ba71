// Package daemontest runs daemons in a test's process, on real coordinators and real sockets.
package daemontest

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/connect"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/internal/logtest"
	"github.com/flakeward/flakeward/internal/must"
)

// Config is a daemon's with everything in dir.
func Config(dir string) daemon.Config {
	c := daemon.DefaultConfig()
	c.Socket.Path = filepath.Join(dir, "s")
	c.Cluster.Coord = "dir:" + filepath.Join(dir, "coord")
	c.Host = "host"
	c.Version = "test"
	c.Waiting.MaxBlock = time.Minute
	return c
}

// Daemon is one start of a daemon. It ends with the test.
type Daemon struct {
	Config daemon.Config
	Log    *logtest.Buffer

	t      testing.TB
	ready  chan struct{}
	cancel context.CancelFunc
	ended  chan error
}

// Launch starts a daemon by run, such as daemon.Run, and does not wait for it. It makes the cluster
// before.
func Launch(t testing.TB, c daemon.Config, run func(context.Context, daemon.Config) error) *Daemon {
	t.Helper()
	created(t, c)
	d := &Daemon{Log: &logtest.Buffer{}, t: t, ready: make(chan struct{}), ended: make(chan error, 1)}
	c.Log = d.Log.At(hclog.Debug)
	c.Ready = func() { close(d.ready) }
	d.Config = c
	var ctx context.Context
	ctx, d.cancel = context.WithCancel(context.Background())
	go func() { d.ended <- run(ctx, c) }()
	t.Cleanup(func() {
		d.cancel()
		if err := <-d.ended; err != nil && !t.Failed() {
			t.Errorf("the daemon ended with %v", err)
		}
	})
	return d
}

// made are the coordinators' URLs of created.
var made sync.Map

// created makes the cluster of a daemon in etcd or ZooKeeper, as an operator does, once for each
// URL. Where that cannot be done, as the servers are away, the daemon waits for a cluster.
func created(t testing.TB, c daemon.Config) {
	t.Helper()
	d, err := connect.Describe(c.Cluster.Coord)
	if _, before := made.Load(c.Cluster.Coord); err != nil || d.Local || before {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if _, err := create(ctx, c); err != nil {
		t.Logf("no cluster was made: %v", err)
		return
	}
	made.Store(c.Cluster.Coord, true)
}

// Create makes the cluster of a daemon, with what change says besides. A coordinator of this host
// alone needs it only for that.
func Create(t testing.TB, c daemon.Config, change ...func(*coord.NewCluster)) coord.Created {
	t.Helper()
	return must.Get(create(t.Context(), c, change...))(t)
}

func create(ctx context.Context, c daemon.Config, change ...func(*coord.NewCluster)) (coord.Created, error) {
	cluster, _, _, err := c.NewCluster()
	if err != nil {
		return coord.Created{}, err
	}
	for _, change := range change {
		change(&cluster)
	}
	access, err := c.Access()
	if err != nil {
		return coord.Created{}, err
	}
	o, err := connect.Operate(access)
	if err != nil {
		return coord.Created{}, err
	}
	defer o.Close() // all has been answered
	return o.Create(ctx, cluster)
}

// Start starts a daemon and waits until it can issue.
func Start(t testing.TB, c daemon.Config) *Daemon {
	t.Helper()
	d := Launch(t, c, daemon.Run)
	d.UntilReady()
	return d
}

// UntilReady waits until the daemon can issue.
func (d *Daemon) UntilReady() {
	d.t.Helper()
	select {
	case <-d.ready:
	case err := <-d.ended:
		d.ended <- nil
		d.t.Fatalf("the daemon ended with %v; its log:\n%s", err, d.Log)
	}
}

// Refusal is why a daemon did not start.
func (d *Daemon) Refusal() error {
	d.t.Helper()
	select {
	case <-d.ready:
		d.t.Fatal("it serves")
		return nil
	case err := <-d.ended:
		d.ended <- nil
		return err
	}
}

// End waits for a daemon that stops by itself and returns why it did.
func (d *Daemon) End() error {
	err := <-d.ended
	d.ended <- nil
	return err
}

// Stop stops the daemon as SIGTERM does. A second time it does nothing.
func (d *Daemon) Stop() {
	d.t.Helper()
	d.cancel()
	if err := d.End(); err != nil {
		d.t.Fatalf("the daemon ended with %v; its log:\n%s", err, d.Log)
	}
}
