package simulation

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/sim/tree"
)

// given is a claim as a process is given it.
type given struct {
	coord.Claim
	opening string
	floor   generator.Tick
}

func (g given) Worker() int           { return 0 }
func (g given) Opening() string       { return g.opening }
func (g given) Floor() generator.Tick { return g.floor }

// What is judged at once of openings and ticks, each with what is right beside it.
func TestOpeningsAreJudgedAtOnce(t *testing.T) {
	type stage struct {
		sim  *Simulation
		a, b *proc
	}
	store := func(s stage, by *proc, holder string, ceiling int) {
		s.sim.wrote(by, 0, fmt.Appendf(nil, `{"ceiling":%d,"holder":%q}`, ceiling, holder))
	}
	open := func(by *proc, g given) { by.opens(g) }
	ticks := func(s stage, opening string, tick generator.Tick) {
		s.a.granted(&laneOf{cluster: "c", opening: opening}, tick)
	}
	for name, test := range map[string]struct {
		play func(s stage)
		want string // empty: nothing is wrong
	}{
		"above what was granted": {func(s stage) { open(s.a, given{opening: "2", floor: 100}) }, ""},
		"below what was granted": {func(s stage) { open(s.a, given{opening: "2", floor: 99}) }, "has floor 99"},
		"below the cluster's floor": {func(s stage) {
			s.sim.truth.raised = 250
			store(s, s.a, "3", 250)
			open(s.a, given{opening: "3", floor: 249})
		}, "has floor 249"},
		"at the cluster's floor": {func(s stage) {
			s.sim.truth.raised = 250
			store(s, s.a, "3", 250)
			open(s.a, given{opening: "3", floor: 250})
		}, ""},
		"a tick above what was given back": {func(s stage) {
			store(s, s.a, "2", 150)
			ticks(s, "2", 151)
		}, "the record's ceiling is 150"},
		"another's opening":      {func(s stage) { open(s.b, given{opening: "2", floor: 100}) }, "has not made"},
		"in another cluster":     {func(s stage) { open(s.a, given{opening: "x"}) }, ""},
		"writes in another":      {func(s stage) { s.a.cluster = "d"; store(s, s.a, "3", 200) }, "has joined d"},
		"writes as an operator":  {func(s stage) { store(s, nil, "3", 200) }, ""},
		"a tick at the floor":    {func(s stage) { ticks(s, "2", 100) }, "another's"},
		"a tick above the floor": {func(s stage) { ticks(s, "2", 101) }, ""},
		"a tick at the ceiling":  {func(s stage) { ticks(s, "2", 200) }, ""},
		"a tick above it":        {func(s stage) { ticks(s, "2", 201) }, "the record's ceiling is 200"},
		"a tick of another tree": {func(s stage) { s.a.granted(&laneOf{cluster: "d", opening: "2"}, 1) }, ""},
		"a tick after opening anew": {func(s stage) {
			store(s, s.a, "3", 300)
			open(s.a, given{opening: "3", floor: 200})
			ticks(s, "3", 200)
		}, "another's"},
		"a late call after a restore": {func(s stage) {
			s.sim.conditions.early = 1
			store(s, s.a, "2", 150)
			ticks(s, "2", 200)
		}, ""},
	} {
		sim := &Simulation{tree: tree.New(tree.Etcd), record: memoOf(recordOf), cluster: memoOf(clusterOf)}
		sim.tree.SetLayout([]byte(`{"uuid":"c"}`))
		s := stage{sim, &proc{sim: sim, slot: &slot{}, cluster: "c"}, &proc{sim: sim, slot: &slot{number: 1}, cluster: "c"}}
		store(s, s.b, "1", 100)
		store(s, s.a, "2", 100)
		store(s, s.a, "2", 200)
		test.play(s)
		if (sim.wrong == "") != (test.want == "") || !strings.Contains(sim.wrong, test.want) {
			t.Errorf("%s: %q, want %q", name, sim.wrong, test.want)
		}
	}
}
