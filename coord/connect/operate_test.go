package connect

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/internal/must"
)

// serve opens a daemon's coordinator and claims a worker ID.
func serve(t *testing.T, c Config) (coord.Coordinator, coord.Claim) {
	t.Helper()
	c.Identity = identity
	d := must.Get(Open(t.Context(), c))(t)
	coordtest.Join(t, d, coord.Layout{Text: "layout", Workers: 1024})
	claim := must.Get(d.Claim(t.Context(), coord.Request{Worker: coord.AnyWorker, Latest: 1000}))(t)
	must.Do(t, claim.Extend(t.Context(), coord.Progress{Ceiling: 500}))
	return d, claim
}

// inspects opens an operator and wants it to see the worker ID, held or not.
func inspects(t *testing.T, c Config, worker int, held bool) {
	t.Helper()
	o := must.Get(Operate(c))(t)
	if found, err := o.Inspect(t.Context()); err != nil || found.Layout != "layout" {
		t.Errorf("Inspect: %+v, %v", found, err)
	}
	marks, err := o.Marks(t.Context())
	if err != nil || len(marks) != 1 || marks[0].Worker != worker || marks[0].Ceiling != 500 || (marks[0].Claim != "") != held {
		t.Errorf("Marks: %+v, %v; want worker ID %d up to 500, held: %v", marks, err, worker, held)
	}
	if history, err := o.History(t.Context(), worker); err != nil || len(history) != 1 || history[0].Incarnation != identity.Incarnation {
		t.Errorf("History: %+v, %v", history, err)
	}
	coordtest.Close(t, o)
}

func TestOperateADirectory(t *testing.T) {
	dir := t.TempDir()
	c := Config{URL: "dir:" + dir}
	o := must.Get(Operate(c))(t)
	_, err := o.Inspect(t.Context())
	must.Fail(t, err, coord.ErrNoCluster)
	coordtest.Close(t, o)
	if left := must.Get(os.ReadDir(dir))(t); len(left) != 0 {
		t.Errorf("looking made %v", left)
	}
	operates(t, c)
}

func TestOperateEtcd(t *testing.T) {
	operates(t, Config{URL: etcdtest.Start(t, etcdtest.Options{}).URL("x")})
}

func TestOperateZooKeeper(t *testing.T) {
	servers := zktest.Start(t, zktest.Options{})
	operates(t, Config{URL: "zk://" + strings.Join(servers.Addresses(), ",") + "/x/y", User: "u", Password: "p"})
}

// operates wants an operator to see no cluster before there was a daemon, and then its claim.
func operates(t *testing.T, c Config) {
	t.Helper()
	o := must.Get(Operate(c))(t)
	if _, err := o.Inspect(t.Context()); !errors.Is(err, coord.ErrNoCluster) {
		t.Errorf("before any daemon: %v, want ErrNoCluster", err)
	}
	coordtest.Close(t, o)
	d, claim := serve(t, c)
	defer d.Close()
	inspects(t, c, claim.Worker(), true)
}
