package daemon_test

import (
	"errors"
	"fmt"
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

// bothWays runs a test from a real etcd to a real ZooKeeper, and back.
func bothWays(t *testing.T, test func(t *testing.T, from, to string)) {
	t.Helper()
	etcd := etcdtest.Start(t, etcdtest.Options{}).URL("test")
	zookeeper := "zk://" + strings.Join(zktest.Start(t, zktest.Options{}).Addresses(), ",") + "/test"
	t.Run("etcd to ZooKeeper", func(t *testing.T) { test(t, etcd, zookeeper) })
	t.Run("ZooKeeper to etcd", func(t *testing.T) { test(t, zookeeper+"/2", etcd+"/2") })
}

// paced asks for IDs in rows of n, one each pause, until stop is closed, and returns the longest
// time from one row's reply to the next one's.
func (a *asker) paced(n int, pause time.Duration, stop <-chan struct{}) (longest time.Duration) {
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for last := time.Now(); ; {
		select {
		case <-stop:
			return longest
		case <-ticker.C:
		}
		a.send(strings.Repeat("NEXT\r\n", n))
		for range n {
			if !a.id() {
				return longest
			}
		}
		longest = max(longest, time.Since(last))
		last = time.Now()
	}
}

// underLoad has a client of each daemon ask, for 20,000 IDs a second in all, until the returned
// function is called. That returns the IDs, and the longest wait.
func underLoad(t *testing.T, daemons []*running) (end func() ([]int64, time.Duration)) {
	t.Helper()
	stop := make(chan struct{})
	var asking sync.WaitGroup
	askers, longest := make([]*asker, len(daemons)), make([]time.Duration, len(daemons))
	for i, d := range daemons {
		askers[i] = dial(t, d.config)
		asking.Go(func() { longest[i] = askers[i].paced(20_000/100/len(daemons)+1, 10*time.Millisecond, stop) })
	}
	return func() (all []int64, most time.Duration) {
		close(stop)
		asking.Wait()
		for i, a := range askers {
			all, most = append(all, a.ids...), max(most, longest[i])
		}
		return all, most
	}
}

// follow has each daemon taken over by one with another coordinator.
func follow(t *testing.T, daemons []*running, url string) {
	t.Helper()
	for i, d := range daemons {
		d.config.Cluster.Coord = url
		daemons[i] = takeOver(t, d)
	}
}

func workerOf(t *testing.T, d *running) string {
	t.Helper()
	return d.info()["worker_id"]
}

// A cluster is exported and imported under load: by takeover no request fails, no connection is
// closed, and no ID comes twice.
func TestAClusterIsExportedUnderLoad(t *testing.T) {
	bothWays(t, func(t *testing.T, from, to string) {
		var daemons []*running
		for i := range 3 {
			c := config(dir(t))
			c.Cluster.Coord, c.Host, c.Grant.Publish = from, fmt.Sprint("host", i), 200*time.Millisecond
			daemons = append(daemons, start(t, c))
		}
		end := underLoad(t, daemons)
		goes(t, operator(t, from), operator(t, to))
		follow(t, daemons, to)
		all, longest := end()
		if judged := received.FindDuplicates(all); judged.Repeated > 0 || judged.IDs < 1000 {
			t.Errorf("%+v", judged)
		}
		t.Logf("%d IDs; the longest wait: %v", len(all), longest)
	})
}

// From a directory, while its daemon runs, to one that several daemons share.
func TestADirectoryIsExported(t *testing.T) {
	url := etcdtest.Start(t, etcdtest.Options{}).URL("test")
	c := config(dir(t))
	d := start(t, c)
	daemons := []*running{d}
	end := underLoad(t, daemons)
	goes(t, operator(t, c.Cluster.Coord), operator(t, url))
	follow(t, daemons, url)
	joining := config(dir(t))
	joining.Cluster.Coord, joining.Host = url, "another"
	more := underLoad(t, []*running{start(t, joining)})
	others, _ := more()
	all, longest := end()
	if judged := received.FindDuplicates(append(all, others...)); judged.Repeated > 0 || judged.IDs < 100 {
		t.Errorf("%+v", judged)
	}
	t.Logf("%d IDs; the longest wait: %v", len(all), longest)
}

// A daemon that is left running at the coordinator that was exported says so, issues to its ceiling
// and not beyond. Its worker ID is issued from above that at the other one. A start that comes too
// late is refused, with what to do.
func TestADaemonThatIsLeftBehind(t *testing.T) {
	bothWays(t, func(t *testing.T, from, to string) {
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
	})
}

// Two clusters become one: the daemons of the one go over to the other. Their datacenters keep the
// IDs of before apart; without datacenters a raise above all that the one has granted does.
func TestTwoClustersAreJoined(t *testing.T) {
	t.Parallel()
	for _, datacenters := range []bool{true, false} {
		t.Run(fmt.Sprint("datacenters ", datacenters), func(t *testing.T) {
			e := etcdtest.Start(t, etcdtest.Options{})
			var all []int64
			var configs []daemon.Config
			for i, name := range []string{"a", "b"} {
				c := config(dir(t))
				c.Cluster.Coord, c.Host = e.URL(name), name
				c.Grant.Window, c.Grant.Publish = 2*time.Second, 200*time.Millisecond
				if datacenters {
					c.IDs.Layout, c.IDs.Datacenter = "twitter;epoch=2026-01-01", uint64(i+1)
				}
				d := start(t, c)
				a := dial(t, d.config)
				for range 1000 {
					a.send("NEXT\r\n")
					a.id()
				}
				all = append(all, a.ids...)
				d.Stop()
				configs = append(configs, c)
			}
			stays, goes := operator(t, e.URL("a")), operator(t, e.URL("b"))
			must.Get(stays.Inspect(t.Context()))(t)
			if !datacenters {
				must.Get(goes.Inspect(t.Context()))(t)
				marks, err := goes.Marks(t.Context())
				if err != nil || len(marks) != 1 {
					t.Fatalf("%+v, %v", marks, err)
				}
				must.Get(stays.Raise(t.Context(), marks[0].Ceiling))(t)
			}
			over := configs[1]
			over.Cluster.Coord, over.IDs.Datacenter = e.URL("a"), configs[0].IDs.Datacenter
			for _, c := range []daemon.Config{configs[0], over} {
				a := dial(t, start(t, c).config)
				for range 1000 {
					a.send("NEXT\r\n")
					a.id()
				}
				all = append(all, a.ids...)
			}
			if judged := received.FindDuplicates(all); judged.Repeated > 0 || judged.IDs != 4000 {
				t.Errorf("%+v", judged)
			}
		})
	}
}

// A host is retired by stopping its daemon: its worker ID is free at once, from its last tick on.
func TestAHostIsRetired(t *testing.T) {
	t.Run("etcd", func(t *testing.T) { retire(t, etcdtest.Start(t, etcdtest.Options{}).URL("test")) })
	t.Run("ZooKeeper", func(t *testing.T) {
		retire(t, "zk://"+strings.Join(zktest.Start(t, zktest.Options{}).Addresses(), ",")+"/test")
	})
}

func retire(t *testing.T, url string) {
	t.Helper()
	var all []int64
	ask := func(d *running) {
		a := dial(t, d.config)
		a.send(strings.Repeat("NEXT\r\n", 1000))
		for range 1000 {
			a.id()
		}
		all = append(all, a.ids...)
	}
	begin := func(host string) *running {
		c := config(dir(t))
		c.Cluster.Coord, c.Host, c.IDs.Layout = url, host, "time=41@1ms,worker=1,sequence=12;epoch=2026-01-01"
		return start(t, c)
	}
	stays, retired := begin("stays"), begin("retired")
	ask(stays)
	ask(retired)
	worker := workerOf(t, retired)
	retired.Stop()
	// This is how an operator sees that it is gone.
	o := operator(t, url)
	must.Get(o.Inspect(t.Context()))(t)
	members, err := o.Members(t.Context())
	if err != nil || len(members) != 1 || members[0].Host != "stays" {
		t.Errorf("after the stop there are %+v, %v; want the one that stays", members, err)
	}
	next := begin("next")
	ask(next)
	ask(stays)
	if got := workerOf(t, next); got != worker {
		t.Errorf("the next host has worker ID %s, want %s", got, worker)
	}
	if judged := received.FindDuplicates(all); judged.Repeated > 0 || judged.IDs != 4000 {
		t.Errorf("%+v", judged)
	}
}
