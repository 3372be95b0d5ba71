package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/connect"
	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/internal/must"
)

// makeCluster makes the record of a cluster as its first daemon does.
func makeCluster(t *testing.T, url string, datacenter int) string {
	t.Helper()
	return makeClusterOf(t, url, datacenter, coord.WorkerRange{})
}

func makeClusterOf(t *testing.T, url string, datacenter int, ids coord.WorkerRange) string {
	t.Helper()
	c := must.Get(connect.Open(t.Context(), connect.Config{URL: url, Identity: coord.Identity{Host: "h", Incarnation: "i"}}))(t)
	found := must.Get(c.Join(t.Context(), coord.Layout{Text: fmt.Sprintf("%s;datacenter=%d", narrow, datacenter), Workers: 4, Range: ids}))(t)
	must.Do(t, c.Close())
	return found.UUID
}

// Clusters on etcd and on ZooKeeper are compared by their records, and nothing is made where there
// is none.
func TestLayoutCheckOnRealCoordinators(t *testing.T) {
	etcd := etcdtest.Start(t, etcdtest.Options{})
	servers := zktest.Shared(t)
	zk := "zk://" + strings.Join(servers.Addresses(), ",") + servers.Chroot()
	eu, us, asia := etcd.URL("/eu"), zk+"/us", zk+"/asia"
	uuids := []string{makeCluster(t, eu, 1), makeCluster(t, us, 2), makeCluster(t, asia, 1)}

	out, _, err := command(t, "", "layout", "check", eu, us)
	if err != nil || !strings.Contains(out, "\n\nno two clusters can issue the same ID\n") || !strings.Contains(strings.Join(strings.Fields(out), " "), us+" "+uuids[1][:8]+" 2 4 all "+narrow) {
		t.Errorf("%s%v", out, err)
	}

	out, _, err = command(t, "", "layout", "check", eu, us, asia)
	if ExitCode(err) != ExitMeet || !strings.Contains(out, eu+" and "+asia+" can issue the same ID: both have the datacenter 1\n") || strings.Count(out, "can issue") != 1 {
		t.Errorf("%s%v, status %d", out, err, ExitCode(err))
	}

	out, _, err = command(t, "", "layout", "check", eu, asia, "--json")
	var got struct {
		Clusters []struct {
			Coordinator, Cluster, Layout string
			Datacenter                   uint64
			Workers                      int
		}
		Meet []struct {
			Coordinators []string
			Reason       string
		}
		Sorted bool `json:"sorted_by_time"`
	}
	if e := json.Unmarshal([]byte(out), &got); e != nil || ExitCode(err) != ExitMeet {
		t.Fatalf("%s%v, %v", out, e, err)
	}
	if len(got.Clusters) != 2 || got.Clusters[1].Cluster != uuids[2] || got.Clusters[1].Layout != narrow || got.Clusters[1].Datacenter != 1 || got.Clusters[1].Workers != 4 ||
		len(got.Meet) != 1 || got.Meet[0].Reason != "same-datacenter" || got.Meet[0].Coordinators[0] != eu || !got.Sorted {
		t.Errorf("%+v", got)
	}

	// Worker IDs that are kept apart are told by the clusters' records.
	low, high := etcd.URL("/low"), zk+"/high"
	makeClusterOf(t, low, 1, coord.WorkerRange{First: 0, Count: 2})
	makeClusterOf(t, high, 1, coord.WorkerRange{First: 2, Count: 2})
	if out, _, err := command(t, "", "layout", "check", low, high); err != nil || !strings.Contains(out, " 0-1 ") || !strings.Contains(out, " 2-3 ") {
		t.Errorf("ranges that are apart: %s%v", out, err)
	}
	if out, _, err := command(t, "", "layout", "check", high, eu); ExitCode(err) != ExitMeet || !strings.Contains(out, "both assign the worker IDs 2-3\n") {
		t.Errorf("ranges that overlap: %s%v", out, err)
	}

	if out, _, err := command(t, "", "layout", "check", eu, eu); ExitCode(err) != ExitMeet || !strings.Contains(out, "both have the UUID "+uuids[0]) {
		t.Errorf("one cluster twice: %s%v", out, err)
	}
	for _, nowhere := range []string{etcd.URL("/none"), zk + "/none"} {
		for range 2 { // the first has made none
			if out, _, err := command(t, "", "layout", "check", eu, nowhere); ExitCode(err) != ExitFailed || out != "" || !strings.Contains(err.Error(), "/none") {
				t.Errorf("%s: %s%v", nowhere, out, err)
			}
		}
	}
}

func TestLayoutCheckRefuses(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "two clusters or more"},
		{[]string{"etcd://h"}, "two clusters or more"},
		{[]string{"etcd://h", ""}, "coordinator 2: the coordinator's URL"},
		{[]string{"h1:2379", "etcd://h"}, `coordinator 1: the coordinator's URL has the scheme "h1"`},
		{[]string{"etcd://h", "etcd://i", "--coord", "etcd://j"}, "flakeward layout check --help"},
	} {
		_, _, err := ask{standIn: someCluster()}.run(t, append([]string{"layout", "check"}, c.args...)...)
		checkError(t, err, c.want, ExitUsage)
	}
}

// One coordinator that does not answer leaves the question open.
func TestLayoutCheckWantsAllToAnswer(t *testing.T) {
	s := someCluster()
	s.fail = func(context.Context, string) error {
		if s.count("inspect") > 1 {
			return coord.ErrNoCluster
		}
		return nil
	}
	out, _, err := ask{standIn: s}.run(t, "layout", "check", "etcd://h", "etcd://i")
	if out != "" {
		t.Errorf("it printed %q", out)
	}
	checkError(t, err, "coordinator etcd://i", ExitFailed)
}
