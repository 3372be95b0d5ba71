package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Text writes the tables for a terminal, and how many targets were missed.
func (r Results) Text(out io.Writer) {
	for _, group := range r.groups() {
		figures := slices.DeleteFunc(r.Figures(), func(f Figure) bool { return f.Group != group })
		rows := grid(slices.DeleteFunc(r.Plots(), func(p Plot) bool { return p.Group != group }))
		if len(figures) > 0 {
			rows = [][]string{{"", "flakeward", "next to", "ratio", "target", "", "note"}}
		}
		for _, f := range figures {
			c := f.cells()
			rows = append(rows, []string{c.what, c.ours, c.theirs, c.ratio, c.target, c.verdict, c.note})
		}
		fmt.Fprintf(out, "%s\n", group)
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, row := range rows {
			fmt.Fprintf(table, "  %s\n", strings.Join(row, "\t"))
		}
		_ = table.Flush() // as for all that is printed here
		fmt.Fprintln(out)
	}
	if n := Missed(r.Figures()); n > 0 {
		fmt.Fprintf(out, "%d NOT MET\n", n)
	}
}

// Missed is how many of the figures missed their targets.
func Missed(figures []Figure) (n int) {
	for _, f := range figures {
		if f.Verdict() == NotMet {
			n++
		}
	}
	return n
}
