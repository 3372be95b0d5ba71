package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// most is how many columns a line of the table takes at most.
const most = 120

// Table writes the drills as an aligned table of at most 120 columns, then a line that sums them
// up, then what failed and which figures missed their targets.
func Table(w io.Writer, drills []Drill) error {
	rows := [][]string{{"drill", "coordinator", "faults", "IDs checked", "violations", "longest stall", "to recover", "verdict"}}
	for _, d := range drills {
		rows = append(rows, []string{shorten(oneLine(d.Name), 36), shorten(oneLine(d.Coordinator), 11), strconv.Itoa(d.Injected()), grouped(d.IDs),
			grouped(d.Violations), lasting(d.LongestStall), lasting(d.Recovery), d.Verdict().String()})
	}
	var b strings.Builder
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if numeric := i >= 2 && i <= 6; numeric {
				line.WriteString(pad + cell)
			} else {
				line.WriteString(cell + pad)
			}
			line.WriteString("  ")
		}
		b.WriteString(shorten(strings.TrimRight(line.String(), " "), most) + "\n")
	}
	b.WriteString("\n" + summary(sum(drills)) + "\n")
	for _, d := range drills {
		on := oneLine(d.Name) + " on " + oneLine(d.Coordinator)
		if d.Violations > 0 {
			fmt.Fprintf(&b, "  %s: %s\n", on, shorten(violations(d.Violations)+first(d.Examples), 1000))
		}
		if d.Failed != "" {
			fmt.Fprintf(&b, "  %s failed: %s\n", on, shorten(oneLine(d.Failed), 1000))
		}
	}
	for _, d := range drills {
		for _, f := range d.Missed() {
			fmt.Fprintf(&b, "  missed: %s on %s: %s: %s, wanted %s\n", oneLine(d.Name), oneLine(d.Coordinator), oneLine(f.Name), oneLine(f.Got), oneLine(f.Want))
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("cannot write the table of drills: %w", err)
	}
	return nil
}

// summary is a run in one line.
func summary(t totals) string {
	s := fmt.Sprintf("%s, %s, %s IDs, %s", plural(t.Drills, "drill"), plural(t.Faults, "fault"), grouped(t.IDs), violations(t.Violations))
	if t.Longest != nil {
		s += fmt.Sprintf(", longest stall %s (%s, %s)", lasting(t.Longest.LongestStall), shorten(oneLine(t.Longest.Name), 36), shorten(oneLine(t.Longest.Coordinator), 11))
	}
	if bad := t.Failed + t.Violated; bad > 0 {
		s += fmt.Sprintf(", %s FAILED", plural(bad, "drill"))
	}
	return s
}

func violations(n uint64) string {
	if n == 1 {
		return "1 violation"
	}
	return grouped(n) + " violations"
}

func first(examples []string) string {
	if len(examples) == 0 {
		return ""
	}
	return ", as in: " + oneLine(examples[0])
}
