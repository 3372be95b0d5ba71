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
	"github.com/google/uuid"
	clientv3 "go.etcd.io/etcd/client/v3"

	flakewardv1 "github.com/flakeward/flakeward/api/flakeward/v1"
	"github.com/flakeward/flakeward/api/flakeward/v1/flakewardv1connect"
	"github.com/flakeward/flakeward/cli"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/daemon/lifecycle"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// A coordinator that was wiped is another cluster. The daemon says so and ends; a new start
// refuses, until it is told to go over. Then it never issues twice what it has issued, with ticks
// so long that the old and the new lane would meet in one.
func TestWipedCoordinator(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t, etcdtest.Options{})
	c := config(dir(t))
	c.Cluster.Coord = etcd.URL("test")
	c.IDs.Layout = "uidgenerator;epoch=2026-01-01"
	c.Grant.Publish = 100 * time.Millisecond
	r := start(t, c)
	seen := map[int64]bool{}
	issue := func(r *running) {
		ids, err := r.client.Do(t.Context(), "NEXT", 100).Int64Slice()
		if err != nil {
			return // the daemon has stopped, or is about to
		}
		for _, id := range ids {
			if seen[id] {
				t.Fatalf("ID %d twice", id)
			}
			seen[id] = true
		}
	}
	issue(r)
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

	refused := launch(t, c)
	var foreign *grant.ForeignError
	if err := refused.End(); !errors.As(err, &foreign) || foreign.Journal != id {
		t.Fatalf("the next start ended with %v, want that its journal is of cluster %s", err, id)
	}
	for _, text := range []string{id, foreign.Found, etcd.Endpoint(0), "--accept-cluster " + foreign.Found, "--coord", "--state-dir"} {
		if !strings.Contains(foreign.Error(), text) {
			t.Errorf("%q does not say %s", foreign, text)
		}
	}
	third := c
	third.Cluster.AcceptCluster = uuid.NewString()
	if err := launch(t, third).End(); err == nil || !strings.Contains(err.Error(), third.Cluster.AcceptCluster) || !strings.Contains(err.Error(), foreign.Found) {
		t.Errorf("accepting a third cluster ended with %v", err)
	}

	c.Cluster.AcceptCluster = strings.ToUpper(foreign.Found) // as somebody may type it
	again := start(t, c)
	if got := again.info()["cluster_id"]; got != foreign.Found {
		t.Errorf("joined cluster %s, accepted %s", got, foreign.Found)
	}
	if log := again.log.String(); !strings.Contains(log, id) || !strings.Contains(log, foreign.Found) {
		t.Errorf("the log does not name both clusters:\n%s", log)
	}
	before := len(seen)
	issue(again)
	if len(seen) == before {
		t.Error("nothing is issued in the new cluster")
	}
	again.Stop()
	c.Cluster.AcceptCluster = "" // the journal is of the new cluster now
	issue(start(t, c))
}

// saysWhyItEnded wants the log of a daemon that has ended by itself to have the code and what to do, and
// the command health, which asks in vain, to name that log.
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
	await := func(what string, done func(info map[string]string) bool) {
		t.Helper()
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		for info := r.info(); !done(info); info = r.info() {
			if ctx.Err() != nil {
				t.Fatalf("%s: not yet; INFO says %v", what, info)
			}
			if id := r.next(); id <= last {
				t.Fatalf("ID %d after %d", id, last)
			} else {
				last = id
			}
		}
	}
	var ceiling string
	await("granted after the backup", func(info map[string]string) bool {
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
	await("the restore is seen", func(info map[string]string) bool {
		return strings.Contains(info["condition"], "marks raise") && strings.HasPrefix(info["condition"], "since ")
	})
	if id := r.next(); id <= last {
		t.Errorf("ID %d after %d", id, last)
	}
	if got := r.info()["state"]; got != "ready" {
		t.Errorf("INFO says %s", got)
	}
}

// A start under a wrong prefix is refused and leaves no cluster there; one that leaves a
// directory makes the first cluster of a new coordinator.
func TestWrongPrefixMakesNoCluster(t *testing.T) {
	etcd := etcdtest.Start(t, etcdtest.Options{})
	c := config(dir(t))
	c.Cluster.Coord = etcd.URL("right")
	r := start(t, c)
	cluster := r.info()["cluster_id"]
	r.Stop()

	keys := func(prefix string) int64 {
		found := must.Get(etcd.Client().Get(t.Context(), prefix, clientv3.WithPrefix(), clientv3.WithCountOnly()))(t)
		return found.Count
	}
	everywhere := keys("")
	wrong := c
	for _, url := range []string{etcd.URL("wrong"), "dir:"} {
		wrong.Cluster.Coord = url
		err := launch(t, wrong).End()
		var none *lifecycle.NoClusterError
		if !errors.As(err, &none) || none.Journal != cluster || none.Coord != url || none.Joined != c.Cluster.Coord {
			t.Errorf("under %s the daemon ended with %v", url, err)
		}
		// A journal that nothing is started from, for its worker ID or its mark, is of that cluster
		// all the same.
		for what, change := range map[string]func(*daemon.Config){
			"a range without its worker ID": func(c *daemon.Config) { c.IDs.WorkerRange = "512-1023" },
			"an ID above its mark":          func(c *daemon.Config) { c.IDs.AboveID = 1 << 62 },
		} {
			unused := wrong
			change(&unused)
			if err := launch(t, unused).End(); !errors.As(err, &none) || none.Journal != cluster {
				t.Errorf("under %s with %s the daemon ended with %v", url, what, err)
			}
		}
	}
	if now := keys(""); now != everywhere {
		t.Errorf("the coordinator has %d keys, and had %d before", now, everywhere)
	}

	// The same cluster by another way of writing it is the right one.
	again := c
	again.Cluster.Coord = strings.Replace(c.Cluster.Coord, "127.0.0.1", "localhost", 1)
	if again.Cluster.Coord == c.Cluster.Coord {
		t.Fatalf("%s has no other way of writing", c.Cluster.Coord)
	}
	right := start(t, again)
	if got := right.info()["cluster_id"]; got != cluster {
		t.Errorf("joined cluster %s, want %s", got, cluster)
	}
	right.Stop()

	// Who says so leaves the cluster for a new one there.
	wrong.Cluster.Coord, wrong.Cluster.AcceptCluster = etcd.URL("wrong"), cluster
	var foreign *grant.ForeignError
	if err := launch(t, wrong).End(); !errors.As(err, &foreign) || foreign.Found == cluster {
		t.Fatalf("with --accept-cluster the daemon ended with %v", err)
	}
	wrong.Cluster.AcceptCluster = foreign.Found
	if got := start(t, wrong).info()["cluster_id"]; got != foreign.Found {
		t.Errorf("joined cluster %s, want %s", got, foreign.Found)
	}

	alone := config(dir(t))
	start(t, alone).Stop()
	alone.Cluster.Coord = etcd.URL("first")
	if err := launch(t, alone).End(); !errors.As(err, &foreign) {
		t.Errorf("the daemon that leaves its directory ended with %v", err)
	}
}
