package cluster_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/flakeward/flakeward/cli/cluster"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/internal/must"
)

// found is a cluster with a record of that text, which may begin with a range of worker IDs and a
// colon.
func found(t rapid.TB, n int, text string) cluster.Found {
	t.Helper()
	limits, layout, ok := strings.Cut(text, ": ")
	if !ok {
		limits, layout = "", text
	}
	ids := must.Get(coord.ParseWorkerRange(limits))(t)
	c := must.Get(cluster.Of(coord.Inspected{Layout: layout, UUID: fmt.Sprintf("uuid-%d", n), Range: ids}))(t)
	return cluster.Found{Coordinator: fmt.Sprintf("etcd://h%d", n), Cluster: c}
}

func TestClustersMeetUnlessDatacentersOrWorkerRangesTellThemApart(t *testing.T) {
	const fields = "time=41@1ms,datacenter=3,worker=7,tenant=4,sequence=8;epoch="
	for _, c := range []struct {
		name   string
		texts  []string
		meet   string // the reasons
		sorted bool
	}{
		{"two datacenters", []string{fields + "2026-01-01;datacenter=1", fields + "2026-01-01;datacenter=2"}, "", true},
		{"one datacenter", []string{fields + "2026-01-01;datacenter=1", fields + "2026-01-01;datacenter=1"}, "same-datacenter", true},
		{"the second and the third of three", []string{fields + "2026-01-01;datacenter=1", fields + "2026-01-01;datacenter=2", fields + "2026-01-01;datacenter=2"}, "same-datacenter", true},
		{"all of three", []string{fields + "2026-01-01", fields + "2026-01-01", fields + "2026-01-01"}, "same-datacenter same-datacenter same-datacenter", true},
		{"no field", []string{"flakeward;datacenter=0", "flakeward;datacenter=0"}, "no-datacenter", true},
		{"two epochs, one datacenter", []string{fields + "2026-01-01;datacenter=1", fields + "2025-01-01;datacenter=1"}, "other-layout", false},
		{"two epochs, two datacenters", []string{fields + "2026-01-01;datacenter=1", fields + "2025-01-01;datacenter=2"}, "", false},
		{"a field elsewhere", []string{fields + "2026-01-01;datacenter=1", "twitter;datacenter=2"}, "", false},
		{"a field elsewhere, whose common bits are equal", []string{fields + "2026-01-01;datacenter=1", "twitter;datacenter=5"}, "other-layout", false},
		{"a narrow layout", []string{"js53;datacenter=0", "flakeward;datacenter=0"}, "other-layout", false},
		{"the datacenter is above a narrow layout", []string{"js53", "datacenter=4,time=41@1ms,worker=6,sequence=12;epoch=2026-01-01;datacenter=9"}, "", false},
		{"the datacenter is the highest field", []string{"datacenter=4,time=41@1ms,worker=6,sequence=12;epoch=2026-01-01;datacenter=9", "datacenter=4,time=41@1ms,worker=6,sequence=12;epoch=2026-01-01;datacenter=8"}, "", false},
		{"ranges apart", []string{"0-511: flakeward", "512-1023: flakeward"}, "", true},
		{"ranges apart that no bit tells apart", []string{"1-2: flakeward", "3-4: flakeward"}, "", true},
		{"ranges that overlap in one", []string{"0-512: flakeward", "512-1023: flakeward"}, "no-datacenter", true},
		{"one range", []string{"512-1023: flakeward", "flakeward"}, "no-datacenter", true},
		{"ranges apart in one datacenter", []string{"0-7: twitter;datacenter=1", "8-31: twitter;datacenter=1"}, "", true},
		{"one range in two datacenters", []string{"0-7: twitter;datacenter=1", "0-7: twitter;datacenter=2"}, "", true},
		{"ranges apart, two epochs", []string{"0-511: flakeward", "512-1023: flakeward;epoch=2025-01-01"}, "", false},
		{"ranges of other bits", []string{"0-511: flakeward", "16-31: twitter;datacenter=1"}, "other-layout", false},
	} {
		var all []cluster.Found
		for n, text := range c.texts {
			all = append(all, found(t, n, text))
		}
		got, err := cluster.Compare(all)
		var reasons []string
		for _, m := range got.Meet {
			reasons = append(reasons, string(m.Reason))
		}
		if err != nil || strings.Join(reasons, " ") != c.meet || got.Sorted != c.sorted {
			t.Errorf("%s: %q, sorted %v, %v; want %q, %v", c.name, reasons, got.Sorted, err, c.meet, c.sorted)
		}
	}
}

func TestOneClusterByTwoNamesMeetsItself(t *testing.T) {
	one, other := found(t, 1, "twitter;datacenter=1"), found(t, 1, "twitter;datacenter=1")
	other.Coordinator = "zk://copy"
	got, err := cluster.Compare([]cluster.Found{one, other})
	if err != nil || len(got.Meet) != 1 || got.Meet[0].Reason != cluster.SameCluster || got.Meet[0].Coordinators != [2]string{"etcd://h1", "zk://copy"} {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestADatacenterThatTheLayoutDoesNotHaveIsAnError(t *testing.T) {
	for _, text := range []string{"flakeward;datacenter=1", "twitter;datacenter=32"} {
		if _, err := cluster.Compare([]cluster.Found{found(t, 1, "twitter;datacenter=3"), found(t, 2, text)}); err == nil || !strings.Contains(err.Error(), "etcd://h2") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Two small clusters meet if and only if one of all their IDs is the same.
func TestPropertyMeet(t *testing.T) {
	fields := []string{"time", "worker", "sequence", "datacenter", "tenant"}
	rapid.Check(t, func(t *rapid.T) {
		one := func(n int) cluster.Found {
			order := rapid.Permutation(fields).Draw(t, "order")
			var parts []string
			datacenter, workers := 0, 0
			for _, f := range order {
				if (f == "datacenter" || f == "tenant") && rapid.Bool().Draw(t, "without "+f) {
					continue
				}
				width := rapid.IntRange(1, 2).Draw(t, f)
				if f == "worker" {
					workers = 1 << width
				}
				if f == "datacenter" {
					datacenter = rapid.IntRange(0, 1<<width-1).Draw(t, "number")
				}
				if text := fmt.Sprintf("%s=%d", f, width); f == "time" {
					parts = append(parts, text+"@1s")
				} else {
					parts = append(parts, text)
				}
			}
			first := rapid.IntRange(0, workers-1).Draw(t, "first worker ID")
			last := rapid.IntRange(first, workers-1).Draw(t, "last worker ID")
			return found(t, n, fmt.Sprintf("%d-%d: %s;epoch=2026-01-01;datacenter=%d", first, last, strings.Join(parts, ","), datacenter))
		}
		a, b := one(1), one(2)
		ids := func(c cluster.Found) map[int64]bool {
			all := make(map[int64]bool)
			for id := range int64(1 << 10) {
				if parts, err := c.Layout.Decompose(id); err == nil && parts.Datacenter == c.Datacenter && c.Range.Has(int(parts.Worker)) {
					all[id] = true
				}
			}
			return all
		}
		common, of := 0, ids(b)
		for id := range ids(a) {
			if of[id] {
				common++
			}
		}
		got, err := cluster.Compare([]cluster.Found{a, b})
		if err != nil || (len(got.Meet) > 0) != (common > 0) {
			t.Fatalf("%s of %d and %s of %d have %d IDs in common, and it says %+v, %v", a.Layout, a.Datacenter, b.Layout, b.Datacenter, common, got.Meet, err)
		}
	})
}

func TestComparisonTable(t *testing.T) {
	got, err := cluster.Compare([]cluster.Found{found(t, 1, "twitter;datacenter=1"), found(t, 2, "3-9: twitter;datacenter=1"), found(t, 3, "flakeward")})
	must.Do(t, err)
	var out strings.Builder
	must.Do(t, got.Table(&out))
	const want = `coordinator  cluster  datacenter  workers  range  layout
etcd://h1    uuid-1   1           32       all    time=41@1ms,datacenter=5,worker=5,sequence=12;epoch=2010-11-04T01:42:54.657Z
etcd://h2    uuid-2   1           32       3-9    time=41@1ms,datacenter=5,worker=5,sequence=12;epoch=2010-11-04T01:42:54.657Z
etcd://h3    uuid-3   0           1024     all    time=41@1ms,worker=10,sequence=12;epoch=2026-01-01T00:00:00Z

etcd://h1 and etcd://h2 can issue the same ID: both have the datacenter 1, and both assign the worker IDs 3-9
etcd://h1 and etcd://h3 can issue the same ID: the layouts differ, and no bit of a datacenter or a worker range tells their IDs apart
etcd://h2 and etcd://h3 can issue the same ID: the layouts differ, and no bit of a datacenter or a worker range tells their IDs apart
IDs of all of them together do not sort by time: they have different layouts or epochs, or time is not the first field
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
