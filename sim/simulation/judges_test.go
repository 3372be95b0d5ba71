package simulation_test

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"github.com/flakeward/flakeward/sim/simulation"
)

// Two judge a run: one at once, and package audit at the end. What nobody promises to survive is
// seen by both: of the runs in which the one sees that IDs or ticks are used twice, or that more is
// issued than was granted, there is none in which the other sees nothing.
func TestBothJudgesAgree(t *testing.T) {
	for name, plant := range planted {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			seen, missed := 0, 0
			each(40, func(seed uint64) {
				plan := simulation.PlanOf(seed)
				plant(&plan)
				atOnce := simulation.Run(plan, nil).Violation
				if atOnce == "" {
					return
				}
				plan.Blind = true
				atLast := simulation.Run(plan, nil).Violation
				// What a record said just then is seen only at the time.
				if atLast == "" && strings.Contains(atOnce, "the record's ceiling") {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				seen++
				switch {
				case atLast == "":
					missed++
					t.Logf("seed %d: seen at once, and not by the audit: %s", seed, atOnce)
				case !strings.Contains(atLast, "the audit finds"):
					t.Errorf("seed %d: %q is not of the audit", seed, atLast)
				}
			})
			t.Logf("%d seen at once, %d of them not by the audit", seen, missed)
			if seen == 0 || missed > 0 {
				t.Errorf("of %d runs that are wrong the audit missed %d", seen, missed)
			}
		})
	}
}

// A late call of before a restore lands on the restored record and lowers it, while its daemon goes
// on to use what it was granted: that is no violation, as the marks are raised beyond it. In such
// a seed the quick look took it for one.
func TestLateCallAfterARestore(t *testing.T) {
	var trace bytes.Buffer
	r := simulation.Run(simulation.PlanOf(435), &trace)
	if r.Violation != "" {
		t.Error(r.Violation)
	}
	_, after, restored := strings.Cut(trace.String(), "coordinator is restored")
	before, _, raised := strings.Cut(after, "marks are raised")
	if !restored || !raised || !strings.Contains(before, "extend a grant (given up before)") {
		t.Error("the plan of the seed has changed: no late call lands between a restore and the raise")
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

// A daemon whose disk flushes nothing hands over, and the power is cut: what the newcomer read of
// the journal was in memory alone.
func TestAJournalThatWasNotFlushedIsNotHandedOver(t *testing.T) {
	r := simulation.Run(simulation.PlanOf(2_080_340).With([]int{14, 15, 16, 19, 20}), nil)
	if r.Violation != "" || r.Counts.IDs == 0 {
		t.Errorf("%d IDs were issued: %s", r.Counts.IDs, r.Violation)
	}
}

// A request for one ID gets its turn, though large ones come in the midst of each tick.
func TestASingleIDHasATurnBesideLargeRequests(t *testing.T) {
	if r := simulation.Run(simulation.PlanOf(2201129), nil); r.Violation != "" {
		t.Error(r.Violation)
	}
}

// Who asks for little leaves the rest of each tick to the other user. A power cut may take back an
// opening that a start has found in the journal and continued. Where a record is opened anew at an
// earlier time, the lane before goes on above that. None of it is a violation.
func TestWhatIsNoViolation(t *testing.T) {
	for seed, faults := range map[uint64][]int{
		2100606: {0, 6, 7, 8, 10, 11, 14, 15, 23, 24, 29, 30},
		2117799: {1, 2, 3, 14},
		2180423: {4, 5, 9, 10, 11, 12, 13, 14, 15, 17, 20},
	} {
		plan := simulation.PlanOf(seed)
		of := plan.Faults
		plan.Faults = nil
		for _, i := range faults {
			plan.Faults = append(plan.Faults, of[i])
		}
		if r := simulation.Run(plan, nil); r.Violation != "" {
			t.Errorf("seed %d: %s", seed, r.Violation)
		}
	}
}
