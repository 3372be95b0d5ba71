package main

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
)

// figure is a line of the table.
type figure struct {
	what, got string
	target    string // empty if there is none
	met       bool
	more      string // what else was seen
}

// atMost has the figure's target met if value is at most limit; text is the limit as shown.
func (f figure) atMost(value, limit float64, text string) figure {
	f.target, f.met = "<= "+text, value <= limit
	return f
}

// atLeast has the figure's target met if value is at least limit; text is the limit as shown.
func (f figure) atLeast(value, limit float64, text string) figure {
	f.target, f.met = ">= "+text, value >= limit
	return f
}

func (f figure) verdict() string {
	switch {
	case f.target == "":
		return ""
	case f.met:
		return "met"
	}
	return "NOT MET"
}

func missed(figures []figure) (n int) {
	for _, f := range figures {
		if f.target != "" && !f.met {
			n++
		}
	}
	return n
}

func printTable(out io.Writer, machine []string, figures []figure) {
	for _, line := range machine {
		fmt.Fprintln(out, line)
	}
	fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "what\tmeasured\ttarget\t\tmore")
	for _, f := range figures {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", f.what, f.got, f.target, f.verdict(), f.more)
	}
	_ = table.Flush() // as for all that is printed here
	if n := missed(figures); n > 0 {
		fmt.Fprintf(out, "\n%d NOT MET\n", n)
	}
}

// thousands writes a count with commas: 4,096,000.
func thousands(v float64) string {
	digits := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// megabytes writes a size in units of 10^6 bytes.
func megabytes(bytes int64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }
