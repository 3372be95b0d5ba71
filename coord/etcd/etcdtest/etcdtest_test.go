package etcdtest_test

import (
	"context"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/internal/must"
)

// put tries until it succeeds: what a leader was asked just before its end, etcd
// answers with an error, after seconds.
func put(t *testing.T, c *etcdtest.Cluster, key string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		try, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		_, err := c.Client().Put(try, key, "v")
		cancel()
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("put %s: %v", key, err)
		}
	}
}

func has(t *testing.T, c *etcdtest.Cluster, key string) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got, err := c.Client().Get(ctx, key)
	if err != nil {
		t.Fatalf("get %s: %v", key, err)
	}
	return got.Count == 1
}

// A member that is stopped while a client holds a stream open ends at once, and
// comes back on its data and its port.
func TestStopAndStart(t *testing.T) {
	c := etcdtest.Start(t, etcdtest.Options{})
	put(t, c, "k")
	lease := must.Get(c.Client().Grant(t.Context(), 60))(t)
	alive, err := c.Client().KeepAlive(t.Context(), lease.ID)
	if err != nil || <-alive == nil {
		t.Fatalf("keep alive: %v", err)
	}
	before := time.Now()
	c.Stop(0)
	t.Logf("stopped in %v", time.Since(before))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	if _, err := c.Client().Get(ctx, "k"); err == nil {
		t.Error("a stopped server answered")
	}
	cancel()
	before = time.Now()
	c.Start(0)
	t.Logf("started in %v", time.Since(before))
	if !has(t, c, "k") {
		t.Error("the data is gone")
	}
}

func TestThreeMembers(t *testing.T) {
	before := time.Now()
	c := etcdtest.Start(t, etcdtest.Options{Members: 3})
	t.Logf("three members started in %v", time.Since(before))
	put(t, c, "k")
	for range 2 {
		leader := c.Leader()
		if leader < 0 {
			t.Fatal("nobody leads")
		}
		before := time.Now()
		c.Stop(leader)
		put(t, c, "k2")
		t.Logf("the leader was stopped and a put went through after %v", time.Since(before))
		c.Start(leader)
	}
	c.StopAll()
	c.StartAll()
	if !has(t, c, "k") {
		t.Error("the data is gone")
	}
}

func TestHang(t *testing.T) {
	c := etcdtest.Start(t, etcdtest.Options{})
	put(t, c, "k")
	resume := c.Hang(0)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	if _, err := c.Client().Get(ctx, "k"); err == nil {
		t.Error("a member that hangs answered")
	}
	cancel()
	resume()
	if !has(t, c, "k") {
		t.Error("the data is gone")
	}
	c.Hang(0) // the end of the test must not wait for it
}

func TestBackup(t *testing.T) {
	c := etcdtest.Start(t, etcdtest.Options{})
	put(t, c, "old")
	c.Stop(0)
	backup := c.Backup()
	c.Start(0)
	put(t, c, "new")
	c.Stop(0)
	c.Restore(backup)
	c.Start(0)
	if !has(t, c, "old") || has(t, c, "new") {
		t.Error("the backup was not restored")
	}
	c.Wipe("o")
	if has(t, c, "old") {
		t.Error("not wiped")
	}
	put(t, c, "x")
	c.Wipe("")
	if has(t, c, "x") {
		t.Error("not wiped whole")
	}
}

func TestUsers(t *testing.T) {
	c := etcdtest.Start(t, etcdtest.Options{RootPassword: "secret"})
	c.AddUser("u", "p", "/mine/")
	client := must.Get(clientv3.New(clientv3.Config{Endpoints: c.Endpoints(), Username: "u", Password: "p", Logger: zap.NewNop()}))(t)
	defer client.Close()
	must.Get(client.Put(t.Context(), "/mine/k", ""))(t)
	if _, err := client.Put(t.Context(), "/other/k", ""); err == nil {
		t.Error("a user wrote where it may not")
	}
}
