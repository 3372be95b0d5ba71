package daemon_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flakeward/flakeward/audit/received"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/connect"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/coord/move"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/internal/must"
)

func operator(t *testing.T, url string) coord.Operator {
	t.Helper()
	return operatorIn(t, url, "")
}

func operatorIn(t *testing.T, url, stateDir string) coord.Operator {
	t.Helper()
	o := must.Get(connect.Operate(t.Context(), connect.Config{URL: url, StateDir: stateDir}))(t)
	t.Cleanup(func() { _ = o.Close() }) // nothing depends on it
	return o
}

// moveSide opens one side of a move.
func moveSide(t *testing.T, url, stateDir string) move.Side {
	t.Helper()
	return move.Side{Mover: operatorIn(t, url, stateDir).(coord.Movable).Mover(), URL: url}
}

// moveInPieces moves the cluster, cut at each write and begun again. It returns how many cuts there
// were.
func moveInPieces(t *testing.T, from, to move.Side) (cuts int) {
	t.Helper()
	for ; cuts < 100; cuts++ {
		n := 0
		if cuts == 2 || cuts == 3 {
			n = 1 // the first two writes are of one run: the next one begins a move of its own
		}
		cut := coordtest.NewCut(n, cuts%2 == 1)
		m := move.Move{From: move.Side{Mover: cut.Side(from.Mover), URL: from.URL}, To: move.Side{Mover: cut.Side(to.Mover), URL: to.URL}, ID: rand.Text()}
		_, err := m.Run(t.Context())
		if err == nil {
			return cuts
		}
		if !errors.Is(err, coordtest.ErrFault) {
			t.Fatal(err)
		}
	}
	t.Fatal("the move does not come to an end")
	return cuts
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

// A cluster is moved under load, there and back, cut at each step: no request fails, no connection
// is closed, and no ID comes twice. Each daemon keeps its worker ID.
func TestAClusterIsMovedUnderLoad(t *testing.T) {
	etcd, zookeeper := etcdtest.Start(t, etcdtest.Options{}), zktest.Start(t, zktest.Options{})
	at := []string{etcd.URL("test"), "zk://" + strings.Join(zookeeper.Addresses(), ",") + "/test"}
	var daemons []*running
	var before []string
	for i := range 3 {
		c := config(dir(t))
		c.Cluster.Coord, c.Host, c.Grant.Publish = at[0], fmt.Sprint("host", i), 200*time.Millisecond
		daemons = append(daemons, start(t, c))
		before = append(before, workerOf(t, daemons[i]))
	}
	end := underLoad(t, daemons)
	for round := range 2 {
		from, to := at[round], at[1-round]
		cuts := moveInPieces(t, moveSide(t, from, ""), moveSide(t, to, ""))
		if cuts < 6 {
			t.Errorf("%d cuts: the test shows nothing", cuts)
		}
		follow(t, daemons, to)
		for i, d := range daemons {
			// Those that are back within a session's time find their own claims of before there.
			if worker := workerOf(t, d); round == 0 && worker != before[i] {
				t.Errorf("daemon %d had worker ID %s and has %s", i, before[i], worker)
			}
		}
	}
	all, longest := end()
	// The one that is not taken over but stopped and started.
	d := daemons[2]
	client := dial(t, d.config)
	client.send("NEXT\r\n")
	client.id()
	moveInPieces(t, moveSide(t, at[0], ""), moveSide(t, at[1], ""))
	last := time.Now()
	d.Stop()
	d.config.Cluster.Coord = at[1]
	d = start(t, d.config)
	again := dial(t, d.config)
	again.send("NEXT\r\n")
	again.id()
	restart := time.Since(last)
	all = append(append(all, client.ids...), again.ids...)
	judged := received.FindDuplicates(all)
	if judged.Repeated > 0 || judged.IDs < 1000 {
		t.Errorf("%+v", judged)
	}
	t.Logf("%d IDs, %d twice; the longest wait over two moves, by takeover: %v; from the last ID to the first one by a restart: %v",
		judged.IDs, judged.Repeated, longest, restart)
}

// From an embedded coordinator to one that several daemons share.
func TestAnEmbeddedClusterIsMoved(t *testing.T) {
	url := etcdtest.Start(t, etcdtest.Options{}).URL("test")
	c := config(dir(t))
	d := start(t, c)
	daemons := []*running{d}
	end := underLoad(t, daemons)
	moveInPieces(t, moveSide(t, "embedded:", c.StateDir), moveSide(t, url, ""))
	before := workerOf(t, d)
	follow(t, daemons, url)
	joining := config(dir(t))
	joining.Cluster.Coord, joining.Host = url, "another"
	more := underLoad(t, []*running{start(t, joining)})
	others, _ := more()
	all, longest := end()
	if worker := workerOf(t, daemons[0]); worker != before {
		t.Errorf("it had worker ID %s and has %s", before, worker)
	}
	if judged := received.FindDuplicates(append(all, others...)); judged.Repeated > 0 || judged.IDs < 100 {
		t.Errorf("%+v", judged)
	}
	t.Logf("%d IDs; the longest wait: %v", len(all), longest)
}

// A daemon whose cluster was moved away says so, and goes on to the end of its grant, over a
// restart as well.
func TestADaemonThatWasLeftBehind(t *testing.T) {
	e := etcdtest.Start(t, etcdtest.Options{})
	c := config(dir(t))
	c.Cluster.Coord, c.Grant.Publish = e.URL("a"), 200*time.Millisecond
	d := start(t, c)
	m := move.Move{From: moveSide(t, e.URL("a"), ""), To: moveSide(t, e.URL("b"), ""), ID: rand.Text()}
	must.Get(m.Run(t.Context()))(t)
	for i := range 2 {
		if i > 0 {
			d = start(t, c)
		}
		again := time.NewTicker(20 * time.Millisecond)
		for until := time.Now().Add(time.Minute); d.info()["condition_code"] != "cluster-moved"; <-again.C {
			if time.Now().After(until) {
				t.Fatalf("it does not say that the cluster was moved: %v", d.info())
			}
		}
		again.Stop()
		d.shows("cluster-moved")
		a := dial(t, d.config)
		a.send("NEXT\r\n")
		a.id()
		d.Stop()
	}
	c.Cluster.Coord = e.URL("b")
	a := dial(t, start(t, c).config)
	a.send("NEXT\r\n")
	a.id()
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
			found := must.Get(stays.Inspect(t.Context()))(t)
			if !datacenters {
				must.Get(goes.Inspect(t.Context()))(t)
				marks, err := goes.Marks(t.Context())
				if err != nil || len(marks) != 1 {
					t.Fatalf("%+v, %v", marks, err)
				}
				must.Get(stays.Raise(t.Context(), marks[0].Ceiling))(t)
			}
			over := configs[1]
			over.Cluster.Coord, over.Cluster.AcceptCluster, over.IDs.Datacenter = e.URL("a"), found.UUID, configs[0].IDs.Datacenter
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
