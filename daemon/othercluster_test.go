package daemon_test

import (
	"context"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	clientv3 "go.etcd.io/etcd/client/v3"

	flakewardv1 "github.com/flakeward/flakeward/api/flakeward/v1"
	"github.com/flakeward/flakeward/api/flakeward/v1/flakewardv1connect"
	"github.com/flakeward/flakeward/cli"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// A coordinator that was wiped holds no cluster. The daemon says so and ends; a new start waits,
// and says what makes one. In the cluster that was made it issues nothing that it has issued
// before, with ticks so long that the old and the new lane would meet in one.
func TestWipedCoordinator(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t, etcdtest.Options{})
	c := config(dir(t))
	c.Cluster.Coord = etcd.URL("test")
	c.IDs.Layout = "uidgenerator;epoch=2026-01-01"
	c.Grant.Publish = 100 * time.Millisecond
	r := start(t, c)
	last := r.next()
	id := r.info()["cluster_id"]
	hangUp := holdOn(r)
	etcd.Wipe("")
	r.shows("cluster-replaced")
	for _, path := range []string{"/readyz?verbose", "/v1/status"} { // INFO, for who is connected still
		if _, body := get(t, r.web(), path); !strings.Contains(body, "cluster-replaced") || !strings.Contains(body, condition.OtherCluster.Do()) {
			t.Errorf("%s says %q", path, body)
		}
	}
	hangUp()
	if err := r.End(); !errors.Is(err, coord.ErrOtherCluster) || !strings.Contains(err.Error(), id) {
		t.Fatalf("the daemon ended with %v, want the cluster %s named", err, id)
	}
	r.saysWhyItEnded()

	again := launch(t, c)
	again.untilServed()
	again.tells("no-cluster", condition.NoCluster.Do(), true)
	if found := must.Get(etcd.Client().Get(t.Context(), "/test", clientv3.WithPrefix(), clientv3.WithCountOnly()))(t); found.Count > 0 {
		t.Errorf("the daemon made %d keys", found.Count)
	}
	made := daemontest.Create(t, c, func(n *coord.NewCluster) {
		layout := must.Get(generator.ParseLayout(c.IDs.Layout))(t)
		n.Floor = must.Get(layout.Decompose(last))(t).Tick // and no later: the test does not wait
	})
	again.UntilReady()
	if got := again.info()["cluster_id"]; got != made.UUID || got == id {
		t.Errorf("joined cluster %s, want %s", got, made.UUID)
	}
	if next := again.next(); next <= last {
		t.Errorf("ID %d after %d", next, last)
	}
	again.Stop()
	if got := start(t, c).info()["cluster_id"]; got != made.UUID {
		t.Errorf("the next start joined cluster %s, want %s", got, made.UUID)
	}
}

// saysWhyItEnded wants the log of a daemon that has ended by itself to have the code and what to
// do, and the command health, which asks in vain, to name that log.
func (r *running) saysWhyItEnded() {
	r.t.Helper()
	line := regexp.MustCompile(`stopping because of an error.*: code=cluster-replaced do="` + regexp.QuoteMeta(condition.OtherCluster.Do()) + `"\n`)
	if !line.MatchString(r.log.String()) {
		r.t.Errorf("the log does not have %s:\n%s", line, r.log)
	}
	err := cli.Run(r.t.Context(), []string{"flakeward", "health", "--socket", r.config.Socket.Path}, nil, io.Discard, io.Discard, nil)
	if cli.ExitCode(err) != cli.ExitNoDaemon || !strings.Contains(err.Error(), "the end of its log says why") {
		r.t.Errorf("health says %v", err)
	}
}

// holdOn has scrapes come by a connection with a stream, which is answered as long as that is open,
// also while the daemon ends.
func holdOn(r *running) (hangUp func()) {
	r.t.Helper()
	r.http = sockettest.HTTP(r.t, r.config.Socket.Path, true)
	ctx, hangUp := context.WithCancel(r.t.Context())
	stream := flakewardv1connect.NewIdServiceClient(r.http, "http://f", connect.WithGRPC()).Stream(ctx)
	must.Do(r.t, stream.Send(&flakewardv1.StreamRequest{Count: 1}))
	must.Get(stream.Receive())(r.t)
	return hangUp
}

// A coordinator that was put back from a backup says so to the daemon, which issues on in its
// grant, says why that will not last, and does not end.
func TestRestoredCoordinator(t *testing.T) {
	etcd := etcdtest.Start(t, etcdtest.Options{})
	c := config(dir(t))
	c.Cluster.Coord = etcd.URL("test")
	c.Grant.Publish = 100 * time.Millisecond
	r := start(t, c)
	last := r.next()
	etcd.Stop(0)
	backup := etcd.Backup()
	etcd.Start(0)
	var ceiling string
	r.until("granted after the backup", func(info map[string]string) bool {
		if info["condition"] != "" || ceiling == "" {
			ceiling = info["ceiling"]
			return false
		}
		return info["ceiling"] > ceiling
	})
	etcd.Stop(0)
	etcd.Restore(backup)
	etcd.Start(0)
	r.tells("coordinator-restored", condition.Restored.Do(), false)
	r.until("the restore is seen", func(info map[string]string) bool {
		return strings.Contains(info["condition"], "cluster raise") && strings.HasPrefix(info["condition"], "since ")
	})
	if id := r.next(); id <= last {
		t.Errorf("ID %d after %d", id, last)
	}
	if got := r.info()["state"]; got != "ready" {
		t.Errorf("INFO says %s", got)
	}
}
