package simulation_test

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flakeward/flakeward/sim/scheduler"
	"github.com/flakeward/flakeward/sim/simulation"
	"github.com/flakeward/flakeward/sim/tree"
)

// calmWith is a plan in which nothing goes wrong but what is given: three daemons on hosts of their
// own, and a copy of the first.
func calmWith(seed uint64, where string, faults ...simulation.Fault) simulation.Plan {
	p := simulation.PlanOf(seed)
	p.Layout, p.Hosts, p.Draws = "time=41@1ms,worker=4,sequence=6;epoch=2026-01-01", []int{0, 1, 2}, nil
	p.Servers = []tree.Kind{tree.Etcd, tree.ZooKeeper}[seed%2]
	p.Apart, p.Nameless = make([]time.Duration, 4), nil
	p.Copies = []simulation.Copy{{Of: 0, Host: 0, Named: true}}
	if strings.Contains(where, "host") || strings.Contains(where, "machine") {
		p.Copies[0].Host, p.Copies[0].Named = 3, seed%3 > 0
	}
	p.Length = scheduler.Time(30 * time.Second)
	p.Faults = append(faults, simulation.Fault{Kind: simulation.Copied, At: scheduler.Time(10 * time.Second), What: where})
	return p
}

// A copy of a daemon's state directory that runs beside it, wherever, and whatever the original is
// up to, gets a worker ID of its own within 2 s; the original keeps its own. The simulation judges
// both, and that no ID comes twice.
func TestACopyGetsAWorkerIDOfItsOwn(t *testing.T) {
	const second = scheduler.Time(time.Second)
	states := map[string][]simulation.Fault{
		"connected": nil,
		"cut off":   {{Kind: simulation.Cut, At: 9 * second, For: 15 * time.Second}},
		"paused":    {{Kind: simulation.Pause, At: 9 * second, For: 15 * time.Second}},
		"stopped":   {{Kind: simulation.Stopped, At: 9 * second, For: 15 * time.Second}},
		"killed":    {{Kind: simulation.Kill, At: 10*second - 1, For: 100 * time.Millisecond}},
		"restarted": {{Kind: simulation.Restart, At: 10*second - 1e6, For: 100 * time.Millisecond}},
		"rebooted":  {{Kind: simulation.Rebooted, At: 9 * second, For: 3 * time.Second}},
	}
	var mu sync.Mutex
	var total simulation.Counts
	for _, where := range []string{"in another directory", "on a cloned volume", "on another host", "on a clone of the machine"} {
		for state, faults := range states {
			if own := strings.Contains(where, "host") || strings.Contains(where, "machine"); !own && state != "connected" && state != "killed" && state != "restarted" {
				continue // it befalls the host, and the copy with it
			}
			t.Run(where+", "+state, func(t *testing.T) {
				each(6, func(seed uint64) {
					r := simulation.Run(calmWith(seed, where, faults...), nil)
					if r.Violation != "" {
						t.Errorf("seed %d: %s", seed, r.Violation)
					}
					// A worker ID that was given back in order may be assigned to the copy: it is
					// free.
					apart := r.Counts.Apart == 1 || state == "restarted" || state == "killed" || state == "rebooted"
					if r.Counts.Copies != 1 || r.Counts.Parted != 1 || r.Counts.Calmly != 1 || !apart {
						t.Errorf("seed %d: %d copies, %d have a worker ID, %d of them in time, %d another than the original", seed, r.Counts.Copies, r.Counts.Parted, r.Counts.Calmly, r.Counts.Apart)
					}
					mu.Lock()
					total.Add(r.Counts)
					mu.Unlock()
				})
			})
		}
	}
	t.Logf("%d copies, a worker ID after %v on the average", total.Parted, total.Parting/time.Duration(max(1, total.Parted)))
}

// A host that boots again goes on from its journal if it has a hardware identity, and takes another
// worker ID if it has none.
func TestARebootIsAMoveWithoutAnIdentity(t *testing.T) {
	for _, nameless := range []bool{false, true} {
		plan := calmWith(1, "", simulation.Fault{Kind: simulation.Rebooted, At: scheduler.Time(5 * time.Second), For: 100 * time.Millisecond})
		plan.Faults, plan.Copies = plan.Faults[:1], nil
		plan.Nameless = []bool{nameless, false, false}
		var trace bytes.Buffer
		if r := simulation.Run(plan, &trace); r.Violation != "" || r.Counts.Faults != 1 {
			t.Fatalf("%+v", r)
		}
		_, after, _ := strings.Cut(trace.String(), "ended by a reboot")
		if on, moved := strings.Contains(after, "goes on from its journal"), strings.Contains(after, "was not written here"); on == nameless || moved != nameless {
			t.Errorf("without an identity %v: goes on %v, moved %v", nameless, on, moved)
		}
	}
}
