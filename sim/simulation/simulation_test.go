package simulation_test

import (
	"bytes"
	"maps"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/flakeward/flakeward/sim/simulation"
)

// each runs f for the seeds from 1 to n, on all processors.
func each(n uint64, f func(seed uint64)) {
	var next atomic.Uint64
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for seed := next.Add(1); seed <= n; seed = next.Add(1) {
				f(seed)
			}
		})
	}
	group.Wait()
}

// A run leaves much garbage behind and needs little of it.
func init() { debug.SetGCPercent(400) }

// Some seeds show no violation, and each kind of fault happens in one of them: a kind that never
// happens tests nothing. `go run ./sim` runs many more seeds.
func TestNoViolation(t *testing.T) {
	const most = 150
	var mu sync.Mutex
	missing := map[string]bool{}
	for k := simulation.Step; k <= simulation.Quiet; k++ {
		if k.String() != "" {
			missing[k.String()] = true
		}
	}
	each(most, func(seed uint64) {
		mu.Lock()
		enough := seed > 30 && len(missing) == 0
		mu.Unlock()
		if enough {
			return
		}
		var trace bytes.Buffer
		r := simulation.Run(simulation.PlanOf(seed), &trace)
		if r.Violation != "" {
			t.Errorf("seed %d: %s", seed, r.Violation)
		}
		if r.Counts.IDs == 0 || r.Counts.Faults < 20 || r.Counts.OfClocks < 5 {
			t.Errorf("seed %d shows little: %+v", seed, r.Counts)
		}
		mu.Lock()
		defer mu.Unlock()
		for line := range strings.Lines(trace.String()) {
			_, fault, ok := strings.Cut(line, "FAULT: ")
			if _, what, named := strings.Cut(fault, ": "); ok && named {
				maps.DeleteFunc(missing, func(kind string, _ bool) bool { return strings.HasPrefix(strings.TrimSpace(what), kind) })
			}
		}
	})
	for kind := range missing {
		t.Errorf("never in %d runs: %s", most, kind)
	}
}

func TestSameSeedSameTrace(t *testing.T) {
	traces := map[string]bool{}
	for _, seed := range []uint64{0, 1, 2, 3, 20001} { // the last one lists two damaged records at once
		plan := simulation.PlanOf(seed)
		if difference := simulation.Compare(plan); difference != "" {
			t.Errorf("seed %d: %s", seed, difference)
		}
		var trace bytes.Buffer
		traced := simulation.Run(plan, &trace)
		if r := simulation.Run(plan, nil); !reflect.DeepEqual(r, traced) {
			t.Errorf("seed %d: %+v with a trace, %+v without", seed, traced, r)
		}
		traces[trace.String()] = true
	}
	if len(traces) != 5 {
		t.Errorf("5 seeds gave %d traces", len(traces))
	}
}

// Once nothing goes wrong any more, all daemons that there are worker IDs for issue again.
func TestClustersRecover(t *testing.T) {
	each(10, func(seed uint64) {
		plan := simulation.PlanOf(seed)
		plan.Recover = true
		if r := simulation.Run(plan, nil); r.Violation != "" {
			t.Errorf("seed %d: %s", seed, r.Violation)
		}
	})
}

// What nobody promises to survive is noticed, or nothing would be. What is left of the faults is
// little, each of them is needed, and the trace ends with what is wrong.
func TestPlantedBugIsFoundAndShrunk(t *testing.T) {
	for seed := uint64(1); seed <= 300; seed++ {
		plan := simulation.PlanOf(seed)
		plan.Unfenced = true
		if r := simulation.Run(plan, nil); strings.Contains(r.Violation, "the audit finds") {
			shrunk(t, plan)
			return
		}
	}
	t.Fatal("not found with 300 seeds")
}

func shrunk(t *testing.T, plan simulation.Plan) {
	small, keep, r := simulation.Shrink(plan)
	t.Logf("seed %d, faults %v of %d: %s", plan.Seed, keep, len(plan.Faults), r.Violation)
	if r.Violation == "" || len(keep) > 8 || len(small.Faults) != len(keep) {
		t.Fatalf("shrunk to %d faults: %v", len(keep), small.Faults)
	}
	for i := range small.Faults {
		var others []int
		for j := range small.Faults {
			if j != i {
				others = append(others, j)
			}
		}
		if r := simulation.Run(small.With(others), nil); r.Violation != "" {
			t.Errorf("fault %d is not needed: %s", keep[i], r.Violation)
		}
	}
	var trace bytes.Buffer
	if again := simulation.Run(small, &trace); !reflect.DeepEqual(again, r) {
		t.Errorf("the shrunk plan shows %+v, and then %+v", r, again)
	}
	lines := strings.Split(strings.TrimSpace(trace.String()), "\n")
	if last := lines[len(lines)-1]; !strings.Contains(last, "VIOLATION: ") {
		t.Errorf("the trace ends with %q", last)
	}
	if !strings.Contains(trace.String(), "the audit: ") {
		t.Errorf("the trace does not show what the audit found: %s", r.Violation)
	}
	for _, f := range small.Faults {
		if !strings.Contains(trace.String(), "FAULT: "+f.String()) {
			t.Errorf("the trace does not show %s", f)
		}
	}
}
