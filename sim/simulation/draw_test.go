package simulation_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/sim/simulation"
)

// A fault at a step happens there: after that many of that step, and at no other.
func TestFaultAtAStep(t *testing.T) {
	plan := simulation.PlanOf(1)
	plan.Faults = []simulation.Fault{{At: 1, Kind: simulation.Kill, For: 1e9, Where: "reply", What: "extend a grant", N: 2}}
	var trace bytes.Buffer
	if r := simulation.Run(plan, &trace); r.Violation != "" || r.Counts.Faults != 1 {
		t.Fatalf("%+v", r)
	}
	before, _, ok := strings.Cut(trace.String(), "FAULT: ")
	granted := 0
	for line := range strings.Lines(before) {
		if strings.Contains(line, "  d0 ") && strings.Contains(line, "takes place: extend a grant") {
			granted++
		}
	}
	if !ok || granted != 2 {
		t.Errorf("killed after %d grants", granted)
	}
}

// What befalls one request befalls that one: it is sent again, and is granted.
func TestFaultOfOneRequest(t *testing.T) {
	for _, kind := range []simulation.Kind{simulation.RequestLost, simulation.ReplyLost, simulation.RequestLate, simulation.Refused} {
		plan := simulation.PlanOf(1)
		plan.Faults = []simulation.Fault{{At: 1, Kind: kind, For: 4e9, Where: "send", What: "extend a grant", N: 1}}
		var trace bytes.Buffer
		if r := simulation.Run(plan, &trace); r.Violation != "" || r.Counts.Faults != 1 || r.Counts.IDs == 0 {
			t.Fatalf("%s: %+v", kind, r)
		}
		_, after, _ := strings.Cut(trace.String(), "FAULT: ")
		for what, want := range map[string]bool{
			"request lost: extend a grant":    kind == simulation.RequestLost,
			"reply lost: extend a grant":      kind == simulation.ReplyLost,
			"request refused: extend a grant": kind == simulation.Refused,
			"given up before":                 kind == simulation.RequestLate,
		} {
			if n := strings.Count(after, what); (n > 0) != want || n > 1 {
				t.Errorf("%s: %q %d times", kind, what, n)
			}
		}
	}
}
