// Package report keeps what drills found, a file for each, and shows it as a table.
package report

import (
	"slices"
	"strings"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
)

// Run is all drills that were run together.
type Run struct {
	When     time.Time // when it began
	Took     time.Duration
	Seed     string   // what it takes to choose the same faults again; empty if nothing was chosen
	Commit   string   // of flakeward; empty if it is not known
	Cores    int      // of the machine; 0 if not known
	Versions []string // of what was run, as in "etcd 3.7.3"
	Drills   []Drill
}

// Drill is what is known of one drill that was run on one coordinator. Save keeps it as JSON.
type Drill struct {
	Name        string        `json:"name"`        // as in kill-an-hour-behind
	Coordinator string        `json:"coordinator"` // etcd or ZooKeeper
	What        string        `json:"what"`        // one sentence: what is done and what is expected
	Took        time.Duration `json:"took_ns"`

	Faults     []Fault  `json:"faults"`
	IDs        uint64   `json:"ids"`        // issued, those in lost replies included
	Received   uint64   `json:"received"`   // of them, those that a client got
	Violations uint64   `json:"violations"` // of any of the checker's invariants
	Examples   []string `json:"examples"`   // of violations

	LongestStall time.Duration `json:"longest_stall_ns"` // the longest time that a client of any host went without an answer
	Recovery     time.Duration `json:"recovery_ns"`      // from the last fault's end, or from the fault where it has none, to IDs on every host; 0 if nothing had stopped
	Figures      []Figure      `json:"figures"`
	Failed       string        `json:"failed"` // why the drill failed, other than by violations; empty if it did not

	Began evidence.Mono `json:"began"`
	Ended evidence.Mono `json:"ended"` // when the clients were told to stop
}

// Fault is one thing that was done to the cluster.
type Fault struct {
	At    evidence.Mono `json:"at"`
	Until evidence.Mono `json:"until"` // At for what takes no time
	Host  string        `json:"host"`  // of a daemon or a member of the coordinator; empty for all
	Kind  string        `json:"kind"`  // a word or two: clock -1h, kill -9, cut off
}

// Figure is a measured value beside the one that is wanted.
type Figure struct {
	Name string `json:"name"` // as in "added stall, median of 5"
	Got  string `json:"got"`
	Want string `json:"want"` // as in "<= 5 ms"; empty if there is no target
	Met  bool   `json:"met"`  // means nothing without a target
}

// Missed says that there is a target, and that it was not met.
func (f Figure) Missed() bool { return f.Want != "" && !f.Met }

// Verdict is what a drill's result comes to.
type Verdict uint8

// The verdicts, from good to bad.
const (
	OK       Verdict = iota
	Failed           // a promise was broken, or the drill did not get as far as to tell
	Violated         // an invariant of the IDs was broken
)

// String returns the verdict as the table has it: what is bad is loud.
func (v Verdict) String() string { return [...]string{"ok", "FAILED", "VIOLATED"}[min(v, Violated)] }

// Verdict returns what the drill's result comes to. A figure that misses its target fails nothing.
func (d Drill) Verdict() Verdict {
	switch {
	case d.Violations > 0:
		return Violated
	case d.Failed != "":
		return Failed
	}
	return OK
}

// Missed returns the figures that missed their targets.
func (d Drill) Missed() []Figure {
	var missed []Figure
	for _, f := range d.Figures {
		if f.Missed() {
			missed = append(missed, f)
		}
	}
	return missed
}

// oscillation is how soon after each other the steps of one oscillation come.
const oscillation = 250 * time.Millisecond

// Injected counts the faults. Those of one sort (the first word of the kind) that follow each other
// on one host within a quarter of a second are one: a clock that is stepped 200 times in ten
// seconds is one fault.
func (d Drill) Injected() int {
	type lane struct{ host, family string }
	last := make(map[lane]evidence.Mono)
	n := 0
	for _, f := range sorted(d.Faults) {
		l := lane{f.Host, family(f.Kind)}
		if before, ok := last[l]; !ok || time.Duration(f.At-before) > oscillation {
			n++
		}
		last[l] = f.At
	}
	return n
}

func sorted(faults []Fault) []Fault {
	return slices.SortedStableFunc(slices.Values(faults), func(a, b Fault) int { return int(min(max(a.At-b.At, -1), 1)) })
}

// family returns what sort of fault a kind is of: its first word.
func family(kind string) string {
	first, _, _ := strings.Cut(kind, " ")
	return first
}

// totals is what a run comes to.
type totals struct {
	Drills, Faults, Failed, Violated, Missed int
	IDs, Violations                          uint64
	Longest                                  *Drill // the one with the longest stall; nil if no client ever waited
}

func sum(drills []Drill) totals {
	t := totals{Drills: len(drills)}
	for i, d := range drills {
		t.Faults += d.Injected()
		t.IDs += d.IDs
		t.Violations += d.Violations
		t.Missed += len(d.Missed())
		switch d.Verdict() {
		case Failed:
			t.Failed++
		case Violated:
			t.Violated++
		}
		if d.LongestStall > 0 && (t.Longest == nil || d.LongestStall > t.Longest.LongestStall) {
			t.Longest = &drills[i]
		}
	}
	return t
}
