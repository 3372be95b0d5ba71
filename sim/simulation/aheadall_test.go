package simulation_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/sim/scheduler"
	"github.com/flakeward/flakeward/sim/simulation"
	"github.com/flakeward/flakeward/sim/tree"
)

const year = 365 * 24 * time.Hour

// crowd is a cluster of 14 daemons with 16 worker IDs, by clocks that are right.
func crowd(servers tree.Kind, length time.Duration) simulation.Plan {
	p := simulation.Plan{
		Seed: 1, Servers: servers, Layout: "time=41@1ms,worker=4,sequence=13;epoch=2026-01-01",
		Timing: grant.Timing{Window: 2 * time.Minute, Publish: 10 * time.Second},
		TTL:    10 * time.Second, Load: time.Second, Length: scheduler.Time(length),
	}
	for d := range 14 {
		p.Hosts, p.Apart = append(p.Hosts, d), append(p.Apart, 0)
	}
	return p
}

// allAhead has the clocks of all hosts ahead for a while.
func allAhead(p *simulation.Plan, at, long, by time.Duration) {
	for d := range p.Hosts {
		p.Faults = append(p.Faults, simulation.Fault{At: scheduler.Time(at), Kind: simulation.Excursion, Daemon: d, By: by, For: long})
	}
}

// believed is how far a clock is believed without anybody, and by how much hosts are apart at the
// beginning.
const believed = clockguard.MaxForward + 10*time.Millisecond

// Of a cluster of three, or of a daemon that is alone, clocks are ten years ahead. Nothing is
// issued by that time, unless somebody says that it is right.
func TestNoIDIsOfTheFutureUnlessItIsFollowed(t *testing.T) {
	for _, tt := range []struct {
		name     string
		hosts    int
		wrong    int // how many have wrong clocks
		long     time.Duration
		trust    bool
		followed bool
	}{
		{"one of three, for a moment", 3, 1, 5 * time.Second, false, false},
		{"all, for a moment", 3, 3, 5 * time.Second, false, false},
		{"alone, for a moment", 1, 1, 5 * time.Second, false, false},
		{"one of three", 3, 1, 10 * time.Minute, false, false},
		{"all", 3, 3, 10 * time.Minute, false, false},
		{"all, and a person says so", 3, 3, 10 * time.Minute, true, true},
		{"alone", 1, 1, 10 * time.Minute, false, true},
	} {
		for _, servers := range []tree.Kind{tree.Etcd, tree.ZooKeeper} {
			t.Run(fmt.Sprintf("%v, %s", servers, tt.name), func(t *testing.T) {
				t.Parallel()
				p := crowd(servers, time.Minute+tt.long)
				p.Hosts, p.Lead, p.Trust = p.Hosts[:tt.hosts], believed, tt.trust
				for d := range tt.wrong {
					p.Faults = append(p.Faults, simulation.Fault{At: scheduler.Time(30 * time.Second), Kind: simulation.Excursion, Daemon: d, By: 10 * year, For: tt.long})
				}
				if r := simulation.Run(p, nil); (r.Violation != "") != tt.followed || tt.followed && !strings.Contains(r.Violation, "ahead of the true time") {
					t.Error(r.Violation)
				} else if r.Counts.Refused > 0 && !tt.followed {
					t.Errorf("%d requests were refused", r.Counts.Refused)
				}
			})
		}
	}
}

// The wrong time comes round: all clocks move on to it, and over what was issued by it.
func TestWhenTheWrongTimeComesRoundItsTicksAreNotGivenAgain(t *testing.T) {
	for _, servers := range []tree.Kind{tree.Etcd, tree.ZooKeeper} {
		t.Run(fmt.Sprint(servers), func(t *testing.T) {
			t.Parallel()
			p := crowd(servers, 15*time.Minute)
			p.Trust = true
			allAhead(&p, time.Minute, 3*time.Minute, year)
			// From just before the wrong time until after its end, in true time.
			allAhead(&p, 6*time.Minute, 9*time.Minute, year-6*time.Minute)
			if r := simulation.Run(p, nil); r.Violation != "" {
				t.Fatal(r.Violation)
			}
		})
	}
}

// made counts, from a trace, the claims that a daemon has made.
type made struct {
	by     string
	starts int
	claims int
}

func (m *made) Write(line []byte) (int, error) {
	at := atTheServers.FindSubmatch(line)
	switch {
	case at != nil && string(at[2]) == m.by && bytes.HasPrefix(at[3], []byte("create a claim")):
		m.claims++
	case bytes.Contains(line, []byte("  "+m.by+" ")) && bytes.HasSuffix(line, []byte("  starts\n")):
		m.starts++
	}
	return len(line), nil
}

// One host of four has a wrong clock, and its daemon is in a crash loop. It serves by the time of
// the others, who were there first: a member is known to have come to a time once it has published
// one.
func TestACrashLoopWithAWrongClockServes(t *testing.T) {
	for _, servers := range []tree.Kind{tree.Etcd, tree.ZooKeeper} {
		for _, ahead := range []time.Duration{0, time.Hour, year} {
			t.Run(fmt.Sprintf("%v, %v ahead", servers, ahead), func(t *testing.T) {
				t.Parallel()
				const starts, each = 250, 400 * time.Millisecond
				p := crowd(servers, 20*time.Second+starts*each)
				p.Hosts, p.Apart = []int{0, 1, 2, 3}, []time.Duration{0, 0, 0, ahead}
				p.Lead = believed
				for i := range starts {
					p.Faults = append(p.Faults, simulation.Fault{
						At: scheduler.Time(20*time.Second + time.Duration(i)*each), Kind: simulation.Kill, Daemon: 3, For: time.Millisecond,
					})
				}
				seen := &made{by: "d3"}
				if r := simulation.Run(p, seen); r.Violation != "" {
					t.Fatal(r.Violation)
				}
				if seen.starts < starts {
					t.Fatalf("the daemon was started %d times", seen.starts)
				}
				if seen.claims < starts {
					t.Errorf("%d starts have made %d claims", seen.starts, seen.claims)
				}
			})
		}
	}
}
