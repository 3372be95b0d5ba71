package simulation_test

import (
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
