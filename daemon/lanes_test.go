package daemon_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// timeout bounds a wait for something that takes well below a second.
const timeout = time.Minute

// until asks for an ID and for INFO again and again until INFO is as it should be, and returns it.
// Each ID must come.
func (r *running) until(what string, done func(info map[string]string) bool) map[string]string {
	r.t.Helper()
	ctx, stop := context.WithTimeout(r.t.Context(), timeout)
	defer stop()
	for ctx.Err() == nil {
		r.next()
		if info := r.info(); done(info) {
			return info
		}
	}
	r.t.Fatalf("%s: not within %v; INFO: %v; the log:\n%s", what, timeout, r.info(), r.log)
	return nil
}

func lanesReady(n int) func(map[string]string) bool {
	return func(info map[string]string) bool { return info["lanes_ready"] == strconv.Itoa(n) }
}

// lanesWorkers are the worker IDs that INFO shows, by lane.
func lanesWorkers(info map[string]string, lanes int) []string {
	all := []string{info["worker_id"]}
	for i := 1; i < lanes; i++ {
		all = append(all, info[fmt.Sprintf("lane%d_worker_id", i)])
	}
	return all
}

// draw has several connections ask at once, checks the order on each, and notes every ID, which
// must be new.
func (r *running) draw(seen map[int64]bool, connections, requests, count int) {
	r.t.Helper()
	got := make([][]int64, connections)
	var all sync.WaitGroup
	for i := range connections {
		all.Go(func() {
			client := redis.NewClient(&redis.Options{Network: "unix", Addr: r.config.Socket.Path, MaxRetries: -1, PoolSize: 1, ReadTimeout: time.Minute})
			defer func() { _ = client.Close() }()
			for range requests {
				ids, err := client.Do(r.t.Context(), "NEXT", count).Int64Slice()
				if err != nil {
					r.t.Errorf("connection %d: %v", i, err)
					return
				}
				got[i] = append(got[i], ids...)
			}
		})
	}
	all.Wait()
	for i, ids := range got {
		last := int64(0)
		for _, id := range ids {
			if seen[id] || id <= last {
				r.t.Fatalf("connection %d: ID %d came after %d, twice: %v", i, id, last, seen[id])
			}
			seen[id], last = true, id
		}
	}
}

// workersOf are the worker IDs that IDs were issued from.
func workersOf(t *testing.T, layout *generator.Layout, seen map[int64]bool) []string {
	t.Helper()
	workers := map[string]bool{}
	for id := range seen {
		parts := must.Get(layout.Decompose(id))(t)
		workers[strconv.FormatUint(parts.Worker, 10)] = true
	}
	return slices.Sorted(maps.Keys(workers))
}

// Four lanes serve, also after restarts, with fewer lanes in between, and without the state
// directory; no ID comes twice.
func TestFourLanes(t *testing.T) {
	etcd := etcdtest.Start(t, etcdtest.Options{})
	c := config(dir(t))
	c.Cluster.Coord = etcd.URL("test")
	seen := map[int64]bool{}
	var had []string
	for _, again := range []struct {
		what  string
		lanes int
		lost  bool // the state directory, before
	}{{"first", 4, false}, {"again", 4, false}, {"fewer", 2, false}, {"more", 4, false}, {"none but the host's name", 4, true}} {
		t.Run(again.what, func(t *testing.T) {
			c := c
			c.IDs.Lanes = again.lanes
			if again.lost {
				must.Do(t, os.RemoveAll(c.StateDir))
			}
			r := start(t, c)
			info := r.until("all lanes are ready", lanesReady(again.lanes))
			workers := lanesWorkers(info, again.lanes)
			if had == nil {
				had = workers
			}
			if !slices.Equal(workers, had[:again.lanes]) {
				t.Errorf("the lanes hold %v, had %v", workers, had)
			}
			if info["lanes"] != strconv.Itoa(again.lanes) || info["state"] != "ready" {
				t.Errorf("INFO: %v", info)
			}
			if _, there := info[fmt.Sprintf("lane%d_worker_id", again.lanes)]; there {
				t.Errorf("INFO shows a lane more than there are: %v", info)
			}
			now := map[int64]bool{}
			r.draw(now, 16, 10, 500)
			if got, want := workersOf(t, layoutOf(t, c), now), slices.Sorted(slices.Values(workers)); !slices.Equal(got, want) {
				t.Errorf("sixteen connections were served from the worker IDs %v, want %v", got, want)
			}
			for id := range now {
				if seen[id] {
					t.Fatalf("ID %d was issued by an earlier start", id)
				}
				seen[id] = true
			}
			r.Stop()
		})
	}
	for lane := range 4 {
		name := "journal"
		if lane > 0 {
			name = fmt.Sprintf("journal-%d", lane)
		}
		if _, err := os.Lstat(filepath.Join(c.StateDir, name)); err != nil {
			t.Errorf("lane %d: %v", lane, err)
		}
	}
}

// An operator clears one lane's claim. Every request is answered all along, and the lane comes back
// with the worker ID that it had.
func TestOneLanesClaimIsCleared(t *testing.T) {
	etcd := etcdtest.Start(t, etcdtest.Options{})
	c := config(dir(t))
	c.Cluster.Coord = etcd.URL("test")
	c.Grant.Publish = 100 * time.Millisecond
	c.Grant.Window = 10 * time.Second
	c.IDs.Lanes = 3
	c.Waiting.MaxBlock = timeout
	r := start(t, c)
	before := r.until("all lanes are ready", lanesReady(3))
	claim := before["lane1_claim"]
	deleted, err := etcd.Client().Delete(t.Context(), "/test/claims/"+claim, clientv3.WithPrefix())
	if err != nil || deleted.Deleted != 1 {
		t.Fatalf("the claim %q was not deleted: %+v, %v", claim, deleted, err)
	}
	after := r.until("lane 1 holds a claim again", func(info map[string]string) bool {
		if info["claim"] != before["claim"] || info["lane2_claim"] != before["lane2_claim"] {
			t.Fatalf("another lane lost its claim: %v, before %v", info, before)
		}
		return info["lane1_claim"] != claim && info["lane1_claimed"] == "true"
	})
	if got, want := lanesWorkers(after, 3), lanesWorkers(before, 3); !slices.Equal(got, want) {
		t.Errorf("the lanes hold %v, had %v", got, want)
	}
	if log := r.log.String(); !strings.Contains(log, "the claim is lost; claiming again: lane=1") {
		t.Errorf("the log does not name the lane:\n%s", log)
	}
	r.draw(map[int64]bool{}, 6, 5, 200)
}

// There are worker IDs for three of four lanes: those serve, the log says what the fourth lacks,
// and it joins in when it can.
func TestOneLaneTooMany(t *testing.T) {
	etcd := etcdtest.Start(t, etcdtest.Options{})
	of := func(host string, lanes int) daemon.Config {
		c := config(dir(t))
		c.Cluster.Coord = etcd.URL("test")
		c.IDs.Layout = "time=41@1ms,worker=2,sequence=12;epoch=2026-01-01"
		c.Host, c.IDs.Lanes = host, lanes
		return c
	}
	other := start(t, of("other", 1))
	r := start(t, of("host", 4))
	info := r.until("three lanes are ready and the fourth says why not", func(info map[string]string) bool {
		said := false
		for key, value := range info {
			said = said || strings.HasSuffix(key, "condition") && strings.Contains(value, "4 held of 4")
		}
		return lanesReady(3)(info) && said && strings.Contains(r.log.String(), "4 held of 4")
	})
	if info["state"] != "ready" {
		t.Errorf("INFO: %v", info)
	}
	if without := slices.Index(lanesWorkers(info, 4), "-1"); without < 0 {
		t.Errorf("each lane has a worker ID: %v", info)
	} else if key := fmt.Sprintf("lane%d_condition", without); without > 0 && !strings.Contains(info[key], "4 held of 4") {
		t.Errorf("%s: %q", key, info[key])
	}
	r.draw(map[int64]bool{}, 8, 5, 200)
	other.Stop()
	r.until("the fourth lane is ready", lanesReady(4))
	r.draw(map[int64]bool{}, 8, 5, 200)
}
