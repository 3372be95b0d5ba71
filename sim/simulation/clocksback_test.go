package simulation_test

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/sim/scheduler"
	"github.com/flakeward/flakeward/sim/simulation"
	"github.com/flakeward/flakeward/sim/tree"
)

// atTheServers is a line of a trace that tells of a request.
var atTheServers = regexp.MustCompile(`^ *([0-9.]+)  (d[0-9]+) \S+  takes place: (.*)\n$`)

// requests counts, from a trace, what daemons have asked in each minute after a time.
type requests struct {
	t        *testing.T
	after    time.Duration
	writes   []map[string]int // by minute and daemon
	listings []map[string]int
}

// reads are the requests that change nothing.
var reads = []string{"look for the layout", "list the claims", "list the records", "read a history", "read what was claimed", "read the host's worker ID"}

func (r *requests) Write(line []byte) (int, error) {
	m := atTheServers.FindSubmatch(line)
	if m == nil {
		return len(line), nil
	}
	seconds, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		r.t.Error(err)
	}
	at := time.Duration(seconds*1e9) - r.after
	if at < 0 {
		return len(line), nil
	}
	for len(r.writes) <= int(at/time.Minute) {
		r.writes, r.listings = append(r.writes, map[string]int{}), append(r.listings, map[string]int{})
	}
	who, what := string(m[2]), string(bytes.TrimSuffix(m[3], []byte(" (given up before)")))
	switch {
	case what == "list the claims":
		r.listings[at/time.Minute][who]++
	case !slices.Contains(reads, what):
		r.writes[at/time.Minute][who]++
	}
	return len(line), nil
}

// sum is how much all daemons asked for, and the one that asked for most.
func sum(by map[string]int) (all, most int) {
	for _, n := range by {
		all, most = all+n, max(most, n)
	}
	return all, most
}

// The clocks of a hundred daemons go back an hour at once, and few worker IDs are left that were
// not issued from within that hour. The coordinator is asked each 15 s to 30 s by each, and not
// more as time goes by.
func TestAHundredClocksGoBackAnHour(t *testing.T) {
	const daemons = 100
	asked := &requests{t: t, after: time.Minute}
	plan := simulation.Plan{
		Seed: 1, Servers: tree.Etcd, Layout: "time=41@1ms,worker=7,sequence=12;epoch=2026-01-01",
		Timing: grant.Timing{Window: 10 * time.Minute, Publish: 10 * time.Second},
		TTL:    10 * time.Second, Load: 500 * time.Millisecond, Length: scheduler.Time(asked.after + 2*time.Minute),
	}
	for d := range daemons {
		plan.Hosts, plan.Apart = append(plan.Hosts, d), append(plan.Apart, 0)
		plan.Faults = append(plan.Faults, simulation.Fault{At: scheduler.Time(asked.after), Kind: simulation.Step, Daemon: d, By: -time.Hour})
	}
	if r := simulation.Run(plan, asked); r.Violation != "" {
		t.Fatal(r.Violation)
	}
	if len(asked.writes) < 2 || len(asked.writes[0]) != daemons {
		t.Fatalf("the trace tells of %d minutes", len(asked.writes))
	}
	before, listed := 0, 0
	for minute := range 2 {
		writes, mostWrites := sum(asked.writes[minute])
		listings, mostListings := sum(asked.listings[minute])
		t.Logf("minute %d: %d writes, %d of one daemon at most; %d listings, %d of one daemon at most", minute, writes, mostWrites, listings, mostListings)
		if mostWrites > 60 {
			t.Errorf("minute %d: a daemon writes %d times, want one write a second at most", minute, mostWrites)
		}
		if mostListings > 5 {
			t.Errorf("minute %d: a daemon lists the claims %d times, want 5 at most", minute, mostListings)
		}
		if listings > 4*daemons {
			t.Errorf("minute %d: %d listings of %d daemons, want 4 of each at most", minute, listings, daemons)
		}
		if minute > 0 && (writes >= before || listings > listed) {
			t.Errorf("minute %d: %d writes and %d listings, after %d and %d in the minute before", minute, writes, listings, before, listed)
		}
		before, listed = writes, listings
	}
}
