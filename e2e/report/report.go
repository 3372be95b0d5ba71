// Package report keeps what drills found, a file for each, and shows it as a table.
package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
	bench "github.com/flakeward/flakeward/e2e/bench/report"
	"github.com/flakeward/flakeward/internal/table"
)

// Drill is what is known of one drill that was run on one coordinator.
type Drill struct {
	Name        string // as in kill-an-hour-behind
	Coordinator string // etcd or ZooKeeper
	What        string // one sentence: what is done and what is expected
	Took        time.Duration

	Faults     []Fault
	IDs        uint64   // issued, those in lost replies included
	Received   uint64   // of them, those that a client got
	Violations uint64   // of any of the checker's invariants
	Examples   []string // of violations

	LongestStall time.Duration // the longest time that a client of any host went without an answer
	Recovery     time.Duration // from the last fault's end, or from the fault where it has none, to IDs on every host; 0 if nothing had stopped
	Figures      []Figure
	Failed       string // why the drill failed, other than by violations; empty if it did not

	Began evidence.Mono
	Ended evidence.Mono // when the clients were told to stop
}

// Fault is one thing that was done to the cluster.
type Fault struct {
	At    evidence.Mono
	Until evidence.Mono // At for what takes no time
	Host  string        // of a daemon or a member of the coordinator; empty for all
	Kind  string        // a word or two: clock -1h, kill -9, cut off
}

// Figure is a measured value beside the one that is wanted.
type Figure struct {
	Name string // as in "added stall, median of 5"
	Got  string
	Want string // as in "<= 5 ms"; empty if there is no target
	Met  bool   // means nothing without a target
}

// FileName is what a drill's file is called in its folder.
const FileName = "drill.json"

// Save writes the drill to a file, as JSON.
func Save(path string, d Drill) error {
	data, err := json.Marshal(d)
	if err == nil {
		err = os.WriteFile(path, append(data, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("cannot save a drill's record: %w", err)
	}
	return nil
}

// verdict is what a drill's result comes to; what is bad is loud. A figure that misses its target fails
// nothing.
func (d Drill) verdict() string {
	switch {
	case d.Violations > 0:
		return "VIOLATED"
	case d.Failed != "":
		return "FAILED"
	}
	return "ok"
}

func number[N int | uint64](n N) string { return bench.Format(bench.Number, float64(n)) }
func lasting(d time.Duration) string    { return bench.Format(bench.Seconds, d.Seconds()) }

// Table writes a table of the drills, a line that sums them up, and then what failed and which
// figures missed their targets.
func Table(w io.Writer, drills []Drill) error {
	var rows [][]string
	var bad, missed bytes.Buffer
	ids, violations, faults, failed, longest := uint64(0), uint64(0), 0, 0, time.Duration(0)
	for _, d := range drills {
		rows = append(rows, []string{d.Name, d.Coordinator, strconv.Itoa(len(d.Faults)), number(d.IDs), number(d.Violations),
			lasting(d.LongestStall), lasting(d.Recovery), d.verdict()})
		ids, violations, faults, longest = ids+d.IDs, violations+d.Violations, faults+len(d.Faults), max(longest, d.LongestStall)
		if d.verdict() != "ok" {
			failed++
			bad.WriteString(line(fmt.Sprintf("- %s on %s: %d violations %q; %s", d.Name, d.Coordinator, d.Violations, d.Examples[:min(len(d.Examples), 1)], d.Failed)))
		}
		for _, f := range d.Figures {
			if f.Want != "" && !f.Met {
				missed.WriteString(line(fmt.Sprintf("- missed: %s on %s: %s: %s, wanted %s", d.Name, d.Coordinator, f.Name, f.Got, f.Want)))
			}
		}
	}
	if err := table.Write(w, []string{"drill", "coordinator", "faults", "IDs checked", "violations", "longest stall", "to recover", "verdict"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d drills, %s faults, %s IDs, %s violations, longest stall %s, %d failed\n%s%s",
		len(drills), number(faults), number(ids), number(violations), lasting(longest), failed, &bad, &missed)
	return err
}

// longestLine bounds a line, in characters: what fails may say much.
const longestLine = 1000

// line is a text in one line.
func line(s string) string {
	r := []rune(strings.Join(strings.Fields(s), " "))
	return string(r[:min(len(r), longestLine)]) + "\n"
}
