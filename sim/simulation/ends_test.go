package simulation_test

import (
	"testing"

	"github.com/flakeward/flakeward/sim/simulation"
)

// A run counts who learned how what it asked for ended.
func TestARunCountsEnds(t *testing.T) {
	ends := simulation.Run(simulation.PlanOf(1), nil).Ends
	for _, e := range []simulation.End{
		{What: "extend a grant", Place: "grant.(*claimer).publish", How: "answered"},
	} {
		if ends[e] == 0 {
			t.Errorf("no %+v in %v", e, ends)
		}
	}
}
