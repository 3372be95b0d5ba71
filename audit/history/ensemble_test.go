package history

import (
	"slices"
	"strings"
	"testing"
)

// z is a zxid.
func z(epoch, place int64) int64 { return epoch<<32 | place }

// run is the zxids of an epoch from one place to another.
func run(epoch, from, to int64) (all []int64) {
	for place := from; place <= to; place++ {
		all = append(all, z(epoch, place))
	}
	return all
}

func union(parts ...[]int64) []int64 { return slices.Concat(parts...) }

func settledOf(servers ...server) ([]int64, error) {
	e := ensemble{servers: servers, matters: func(int64) bool { return true }}
	for i := range servers {
		servers[i].name = "server " + string(rune('A'+i))
		e.logged = append(e.logged, servers[i].log...)
	}
	slices.Sort(e.logged)
	e.logged = slices.Compact(e.logged)
	return e.settled()
}

func TestSettled(t *testing.T) {
	start := []int64{0}
	full := union(run(1, 1, 5), run(2, 1, 3))
	for name, c := range map[string]struct {
		servers []server
		want    []int64
		err     string // a part of the error
	}{
		"nothing yet":                {servers: []server{{}, {snapshots: start}, {}}},
		"one server":                 {servers: []server{{log: run(0, 1, 9), snapshots: []int64{0, z(0, 4)}}}, want: run(0, 1, 9)},
		"all have all":               {servers: []server{{log: full, snapshots: start}, {log: full}, {log: full}}, want: full},
		"a minority's end":           {servers: []server{{log: run(1, 1, 5), snapshots: start}, {log: run(1, 1, 3)}, {log: run(1, 1, 3)}}, want: run(1, 1, 3)},
		"a majority's end":           {servers: []server{{log: run(1, 1, 5), snapshots: start}, {log: run(1, 1, 4)}, {log: run(1, 1, 3)}}, want: run(1, 1, 4)},
		"a snapshot counts":          {servers: []server{{log: run(1, 1, 5), snapshots: start}, {log: run(1, 1, 3), snapshots: []int64{z(1, 4)}}, {}}, want: run(1, 1, 4)},
		"one of a later epoch may":   {servers: []server{{log: run(1, 1, 5), snapshots: start}, {log: run(1, 1, 3), snapshots: []int64{z(2, 0)}}, {log: run(1, 1, 3)}}, err: "read again"},
		"rolled back, out of reach":  {servers: []server{{log: run(1, 1, 7)}, {log: full, snapshots: start}, {log: full}}, want: full},
		"rolled back, sent the rest": {servers: []server{{log: union(run(1, 1, 7), run(2, 3, 3)), snapshots: []int64{0, z(2, 2)}}, {log: full}, {log: full}}, want: full},
		"rolled back, epoch's start": {servers: []server{{log: union(run(1, 1, 7), run(2, 1, 3)), snapshots: []int64{0, z(2, 0)}}, {log: full}, {log: full}}, want: full},
		"the leader's alone, kept": {servers: []server{{log: full, snapshots: start},
			{log: union(run(1, 1, 2), run(2, 1, 3)), snapshots: []int64{z(1, 5)}}, {log: run(1, 1, 2)}}, want: full},
		"the logs differ": {servers: []server{{log: full, snapshots: start}, {log: union(run(1, 1, 6), run(2, 1, 3))}, {}}, err: "follows"},
		"passed over": {servers: []server{{log: union(run(1, 1, 4), run(2, 1, 3)), snapshots: start},
			{log: run(1, 1, 5), snapshots: []int64{z(2, 3)}}, {log: run(1, 1, 5)}}, err: "a majority has"},
		"none goes on": {servers: []server{{log: full, snapshots: []int64{0, z(2, 0)}}, {log: union(run(1, 1, 4), run(2, 1, 3)), snapshots: []int64{z(2, 0)}}, {log: run(1, 1, 4)}},
			err: "cannot be told"},
		"purged":                          {servers: []server{{log: run(0, 5, 9), snapshots: []int64{z(0, 6)}}}, err: "not complete"},
		"purged at an epoch's start":      {servers: []server{{log: run(2, 1, 9), snapshots: []int64{z(2, 3)}}}, err: "not complete"},
		"purged, except for the snapshot": {servers: []server{{log: run(2, 1, 9), snapshots: []int64{0, z(1, 8)}}}, err: "not complete"},
		"purged, all of it":               {servers: []server{{snapshots: []int64{z(0, 6)}}}, err: "not complete"},
		"a hole between epochs":           {servers: []server{{log: union(run(1, 1, 3), run(2, 1, 3)), snapshots: []int64{0, z(1, 5)}}}, err: "not complete"},
		"a hole in an epoch":              {servers: []server{{log: union(run(1, 1, 3), run(1, 5, 6)), snapshots: start}}, err: "not complete"},
		"a minority's alone":              {servers: []server{{log: run(1, 1, 3)}, {}, {}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := settledOf(c.servers...)
			if c.err == "" && (err != nil || !slices.Equal(got, c.want)) {
				t.Errorf("%x, %v; want %x", got, err, c.want)
			}
			if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("%x, %v; want an error with %q", got, err, c.err)
			}
		})
	}
}
