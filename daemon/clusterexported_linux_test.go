package daemon_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flakeward/flakeward/audit/received"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/connect"
	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/internal/must"
)

func operator(t *testing.T, url string) coord.Operator {
	t.Helper()
	o := must.Get(connect.Operate(connect.Config{URL: url}))(t)
	t.Cleanup(func() { _ = o.Close() }) // nothing depends on it
	return o
}

// goes exports the cluster of one coordinator, and imports it at another one.
func goes(t *testing.T, from, to coord.Operator) {
	t.Helper()
	must.Do(t, to.Import(t.Context(), must.Get(from.Export(t.Context()))(t)))
}

func workerOf(t *testing.T, d *running) string {
	t.Helper()
	return d.info()["worker_id"]
}

// From a directory, while its daemon runs, to one that several daemons share: by takeover no
// request fails, no connection is closed, and no ID comes twice.
func TestADirectoryIsExported(t *testing.T) {
	url := etcdtest.Start(t, etcdtest.Options{}).URL("test")
	c := config(dir(t))
	d := start(t, c)
	a, stop := dial(t, c), make(chan struct{})
	var pulling sync.WaitGroup
	pulling.Go(func() { a.pull(10, stop) })
	goes(t, operator(t, c.Cluster.Coord), operator(t, url))
	d.config.Cluster.Coord = url
	takeOver(t, d)
	joining := config(dir(t))
	joining.Cluster.Coord, joining.Host = url, "another"
	another := start(t, joining)
	var all []int64
	for range 100 {
		all = append(all, another.next())
	}
	close(stop)
	pulling.Wait()
	if judged := received.FindDuplicates(append(all, a.ids...)); judged.Repeated > 0 || judged.IDs < 200 {
		t.Errorf("%+v", judged)
	}
}

// A daemon that is left running at the coordinator that was exported says so, issues to its ceiling
// and not beyond. Its worker ID is issued from above that at the other one. A start that comes too
// late is refused, with what to do.
func TestADaemonThatIsLeftBehind(t *testing.T) {
	from := etcdtest.Start(t, etcdtest.Options{}).URL("test")
	to := "zk://" + strings.Join(zktest.Start(t, zktest.Options{}).Addresses(), ",") + "/test"
	at := func(url, host string) daemon.Config {
		c := config(dir(t))
		c.Cluster.Coord, c.Host, c.IDs.Layout = url, host, "time=41@1ms,worker=1,sequence=12;epoch=2026-01-01"
		c.Grant.Window, c.Grant.Publish = 2*time.Second, 200*time.Millisecond
		return c
	}
	c := at(from, "left")
	c.Waiting.MaxBlock = 500 * time.Millisecond
	left := start(t, c)
	all := []int64{left.next()}
	goes(t, operator(t, from), operator(t, to))
	late := launch(t, at(from, "late"))
	if err := late.Refusal(); !errors.As(err, new(*coord.NotServedError)) || !strings.Contains(err.Error(), "--coord") {
		t.Errorf("a start where it was exported from: %v, want *NotServedError and what to do", err)
	}
	told := false
	for ended := false; !ended; {
		id, err := left.client.Do(t.Context(), "NEXT").Int64()
		if err == nil {
			all = append(all, id)
		}
		code := left.info()["condition_code"]
		told, ended = told || code == "cluster-exported", err != nil && code == "grant-ended"
	}
	if !told {
		t.Error("it did not say that the cluster was exported")
	}
	before := workerOf(t, left)
	taken := false
	for _, host := range []string{"a", "b"} { // both worker IDs
		d := start(t, at(to, host))
		taken = taken || workerOf(t, d) == before
		for range 1000 {
			all = append(all, d.next())
		}
		d.Stop()
	}
	if !taken {
		t.Errorf("nobody had its worker ID %s: the test shows nothing", before)
	}
	left.Stop()
	left.config.Cluster.Coord = to
	all = append(all, start(t, left.config).next())
	if judged := received.FindDuplicates(all); judged.Repeated > 0 || judged.IDs < 2000 {
		t.Errorf("%+v", judged)
	}
}
