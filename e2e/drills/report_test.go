//go:build e2e

package drills

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	bench "github.com/flakeward/flakeward/e2e/bench/report"
	"github.com/flakeward/flakeward/internal/table"
)

// Record is what is kept of one drill that was run on one coordinator.
type Record struct {
	Name, Coordinator string
	Faults            []Fault
	IDs               uint64        // issued, those in lost replies included
	Violations        uint64        // of any of the checker's invariants
	Examples          []string      // of violations
	LongestStall      time.Duration // the longest time that a client of any host went without an answer
	Missed            []string      // what took longer than is aimed at; that fails nothing
	Failed            string        // why the drill failed, other than by violations; empty if it did not
}

// save writes the record to the drill's folder.
func (d Record) save(dir string) error {
	data, err := json.Marshal(d)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "drill.json"), append(data, '\n'), 0o644)
}

// verdict is what a drill's result comes to; what is bad is loud.
func (d Record) verdict() string {
	switch {
	case d.Violations > 0:
		return "VIOLATED"
	case d.Failed != "":
		return "FAILED"
	}
	return "ok"
}

// tabulate writes a table of the drills, a line that sums them up, and then what failed and what
// missed its target.
func tabulate(w io.Writer, drills []Record) error {
	number := func(n uint64) string { return bench.Format(bench.Number, float64(n)) }
	lasting := func(d time.Duration) string { return bench.Format(bench.Seconds, d.Seconds()) }
	var rows [][]string
	var bad, missed bytes.Buffer
	ids, violations, faults, failed, longest := uint64(0), uint64(0), 0, 0, time.Duration(0)
	for _, d := range drills {
		rows = append(rows, []string{d.Name, d.Coordinator, strconv.Itoa(len(d.Faults)), number(d.IDs), number(d.Violations), lasting(d.LongestStall), d.verdict()})
		ids, violations, faults, longest = ids+d.IDs, violations+d.Violations, faults+len(d.Faults), max(longest, d.LongestStall)
		if d.verdict() != "ok" {
			failed++
			bad.WriteString(line("- %s on %s: %d violations %q; %s", d.Name, d.Coordinator, d.Violations, d.Examples[:min(len(d.Examples), 1)], d.Failed))
		}
		for _, m := range d.Missed {
			missed.WriteString(line("- missed: %s on %s: %s", d.Name, d.Coordinator, m))
		}
	}
	if err := table.Write(w, []string{"drill", "coordinator", "faults", "IDs checked", "violations", "longest stall", "verdict"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d drills, %d faults, %s IDs, %s violations, longest stall %s, %d failed\n%s%s",
		len(drills), faults, number(ids), number(violations), lasting(longest), failed, &bad, &missed)
	return err
}

// line is a text in one line, of a bounded length: what fails may say much.
func line(format string, args ...any) string {
	return fmt.Sprintf("%.1000s\n", strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " "))
}
