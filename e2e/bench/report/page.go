package report

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/flakeward/flakeward/internal/table"
)

const introduction = `# Benchmarks

<!-- Made by ` + "`make bench`" + ` from benchmarks.json; ` + "`make bench ONLY=none`" + ` makes it again without measuring. -->

flakeward next to its peers, on one machine in the same minutes: ` + "`make bench`" + ` measures everything and
writes this page, and ` + "`make bench ONLY='socket|idle'`" + ` measures these sections again and leaves the rest.

Contestants are measured in turn, A B A B and so on, so that what slows the machine down slows all of
them. A value is the median of its rounds, with the lowest and the highest of them in parentheses. A
ratio is flakeward's median over the peer's; in parentheses are the lowest and the highest ratio of a
single round. Load generators run on the same processors as the servers. Every sample is in
[benchmarks.json](benchmarks.json).

`

// Page is the page in Markdown: the verdicts, a table for each group of figures, and what was
// measured when and on what.
func (r Results) Page() []byte {
	var b bytes.Buffer // it takes all that is written
	b.WriteString(introduction)
	count := make(map[Verdict]int)
	for _, f := range r.Figures() {
		count[f.Verdict()]++
	}
	fmt.Fprintf(&b, "**%d targets met, %d missed.**\n\n", count[Met], count[NotMet])
	_ = r.Tables(&b)
	r.when(&b)
	return append(bytes.TrimRight(b.Bytes(), "\n"), '\n')
}

// Tables writes the tables, in the order in which their groups come first.
func (r Results) Tables(w io.Writer) error {
	var groups []string
	rows := make(map[string][][]string)
	for _, f := range r.Figures() {
		if rows[f.Group] == nil {
			groups = append(groups, f.Group)
		}
		rows[f.Group] = append(rows[f.Group], f.row())
	}
	for _, g := range groups {
		if _, err := fmt.Fprintf(w, "## %s\n\n%s", table.Escape(g), sharedNote(rows[g])); err != nil {
			return err
		}
		if err := table.Write(w, []string{"", "flakeward", "next to", "ratio", "target", "verdict", "note"}, rows[g]); err != nil {
			return err
		}
	}
	return nil
}

// sharedNote takes a note that all rows have out of them, and returns it as a paragraph.
func sharedNote(rows [][]string) string {
	last := len(rows[0]) - 1
	note := rows[0][last]
	if note == "" || slices.ContainsFunc(rows, func(row []string) bool { return row[last] != note }) {
		return ""
	}
	for _, row := range rows {
		row[last] = ""
	}
	return "In all rows: " + table.Escape(note) + ".\n\n"
}

// row is a figure as it is written in a table.
func (f Figure) row() []string {
	ours, theirs, ratio := f.summary(f.Ours), "", ""
	if f.Peer != "" {
		theirs = f.Peer + " " + f.summary(f.Theirs)
		if v, least, most, err := ratios(f.Ours, f.Theirs); err == nil {
			ratio = fmt.Sprintf("%s (%s to %s)", times(v), times(least), times(most))
		}
	}
	return []string{f.What, ours, theirs, ratio, f.target(), string(f.Verdict()), f.Note}
}

// summary is the median, with the spread of the samples if no ratio shows one.
func (f Figure) summary(samples []float64) string {
	if len(samples) == 0 {
		return "unknown"
	}
	text := Format(f.Unit, Median(samples))
	from, to := Format(f.Unit, slices.Min(samples)), Format(f.Unit, slices.Max(samples))
	if from == to || f.Peer != "" {
		return text
	}
	return fmt.Sprintf("%s (%s to %s)", text, from, to)
}

func (f Figure) target() string {
	if f.Target == nil {
		return ""
	}
	sign := "at most "
	if f.Target.AtLeast {
		sign = "at least "
	}
	switch f.Target.Of {
	case OfMost:
		sign = "each " + sign
	case OfRatio:
		return sign + strconv.FormatFloat(f.Target.Limit, 'g', -1, 64) + " times"
	}
	return sign + Format(f.Unit, f.Target.Limit)
}

// when says when and on what each section was measured, and names a machine once.
func (r Results) when(b *bytes.Buffer) {
	b.WriteString("## Measured when, on what and with what\n\n")
	var machines []Machine
	var rows [][]string
	for _, s := range r.Sections {
		at := slices.Index(machines, s.Machine)
		if at < 0 {
			at = len(machines)
			machines = append(machines, s.Machine)
		}
		rows = append(rows, []string{"`" + s.Name + "`", strconv.Itoa(s.rounds()), s.Begun.UTC().Format("2006-01-02 15:04 MST"), fmt.Sprintf("%.0f s", s.Took), s.Load, s.After, strconv.Itoa(at + 1)})
	}
	_ = table.Write(b, []string{"section", "rounds", "begun", "took", "load before", "and after", "machine"}, rows)
	for i, m := range machines {
		fmt.Fprintf(b, "%d. %s\n", i+1, table.Escape(m.String()))
	}
	b.WriteString("\nPeers, libraries and load generators:\n\n")
	_ = table.Write(b, []string{"name", "version"}, r.versions())
}

// rounds is how many rounds most of the section's figures are made of: the least.
func (s Section) rounds() (n int) {
	for _, f := range s.Figures {
		if len(f.Ours) > 0 && (n == 0 || len(f.Ours) < n) {
			n = len(f.Ours)
		}
	}
	return n
}

// Format writes a value in a unit: 4,096,000/s, 1.25 ms, 9.8 KB, 12.
func Format(u Unit, v float64) string {
	switch u {
	case Rate:
		return number(v) + "/s"
	case Seconds:
		return scaled(v, []scale{{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}})
	case Bytes:
		return scaled(v, []scale{{1e9, "GB"}, {1e6, "MB"}, {1e3, "KB"}, {1, "B"}})
	}
	return number(v)
}

// number writes a count with commas, and what is below 1000 with three digits.
func number(v float64) string {
	if math.Abs(v) < 999.5 {
		return digits(v)
	}
	digits := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// digits writes a value with three digits that count, fewer if zeros follow.
func digits(v float64) string {
	if v == math.Trunc(v) {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	after := min(max(2-int(math.Floor(math.Log10(math.Abs(v)))), 0), 9)
	text := strconv.FormatFloat(v, 'f', after, 64)
	if after > 0 {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// scale is a unit of a size, in what is measured.
type scale struct {
	size float64
	name string
}

// scaled writes a value in the largest of the units, the last of which is the smallest, in which it
// is 1 or more.
func scaled(v float64, units []scale) string {
	if v == 0 {
		return "0"
	}
	u := units[len(units)-1]
	for _, larger := range units {
		// What would be written as 1000 of a unit is 1 of the next one.
		if math.Abs(v) >= larger.size*0.9995 {
			u = larger
			break
		}
	}
	return digits(v/u.size) + " " + u.name
}

// times writes a ratio.
func times(v float64) string {
	after := 2
	if math.Abs(v) < 0.1 {
		after = 3
	}
	return strconv.FormatFloat(v, 'f', after, 64)
}
