package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/flakeward/flakeward/internal/table"
)

// Write writes a run in Markdown: when it was and on what, then what Table writes.
func Write(w io.Writer, r Run) error {
	about := []string{r.When.UTC().Format("2006-01-02 15:04 UTC"), "took " + lasting(r.Took), "on " + plural(r.Cores, "core")}
	if r.Commit != "" {
		about = append(about, "flakeward "+r.Commit)
	}
	about = append(about, r.Versions...)
	if r.Seed != "" {
		about = append(about, "seed "+r.Seed)
	}
	if _, err := fmt.Fprintf(w, "# Drills\n\n%s\n\n", table.Escape(strings.Join(about, ", "))); err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	return Table(w, r.Drills)
}

// Table writes a table of the drills, a line that sums them up, and then what failed and which
// figures missed their targets.
func Table(w io.Writer, drills []Drill) error {
	var rows [][]string
	for _, d := range drills {
		rows = append(rows, []string{d.Name, d.Coordinator, strconv.Itoa(d.Injected()), grouped(d.IDs),
			grouped(d.Violations), lasting(d.LongestStall), lasting(d.Recovery), d.Verdict().String()})
	}
	if err := table.Write(w, []string{"drill", "coordinator", "faults", "IDs checked", "violations", "longest stall", "to recover", "verdict"}, rows); err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString(summary(sum(drills)) + "\n")
	for _, d := range drills {
		on := "- " + d.Name + " on " + d.Coordinator
		if d.Violations > 0 {
			b.WriteString(line(on + ": " + violations(d.Violations) + first(d.Examples)))
		}
		if d.Failed != "" {
			b.WriteString(line(on + " failed: " + d.Failed))
		}
	}
	for _, d := range drills {
		for _, f := range d.Missed() {
			b.WriteString(line(fmt.Sprintf("- missed: %s on %s: %s: %s, wanted %s", d.Name, d.Coordinator, f.Name, f.Got, f.Want)))
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("cannot write what the drills found: %w", err)
	}
	return nil
}

// longestLine bounds a line, in characters: what fails may say much.
const longestLine = 1000

// line is a text in one line.
func line(s string) string {
	r := []rune(strings.Join(strings.Fields(s), " "))
	return string(r[:min(len(r), longestLine)]) + "\n"
}

// summary is a run in one line.
func summary(t totals) string {
	s := fmt.Sprintf("%s, %s, %s IDs, %s", plural(t.Drills, "drill"), plural(t.Faults, "fault"), grouped(t.IDs), violations(t.Violations))
	if t.Longest != nil {
		s += fmt.Sprintf(", longest stall %s (%s, %s)", lasting(t.Longest.LongestStall), t.Longest.Name, t.Longest.Coordinator)
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
	return ", as in: " + examples[0]
}

// grouped writes a number with a comma between thousands.
func grouped(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// lasting writes a duration with three digits or so: 4.2 ms, 150 ms, 12.3 s, 15 min 20 s. What took
// no time is a dash.
func lasting(d time.Duration) string {
	switch ms := float64(d) / 1e6; {
	case d <= 0:
		return "-"
	case ms < 9.95:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 999.5:
		return fmt.Sprintf("%.0f ms", ms)
	case ms < 9_995:
		return fmt.Sprintf("%.2f s", ms/1000)
	case ms < 119_950:
		return fmt.Sprintf("%.1f s", ms/1000)
	}
	s := int(d.Round(time.Second) / time.Second)
	if s%60 == 0 {
		return fmt.Sprintf("%d min", s/60)
	}
	return fmt.Sprintf("%d min %d s", s/60, s%60)
}

// plural writes a count and what is counted.
func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(uint64(max(n, 0))) + " " + one + "s"
}
