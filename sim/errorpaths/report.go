package main

import (
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"text/tabwriter"
)

// report prints what was found. The error says how many exits were not taken that had to be.
func report(out io.Writer, tables []found) error {
	all, taken := 0, 0
	var wrong []string
	for _, t := range tables {
		n, missing := t.print(out)
		if !t.further {
			all, taken = all+n, taken+n-len(missing)
		}
		excepted := map[exception]bool{}
		for _, e := range missing {
			what := fmt.Sprintf("%s/%s:%d: %s: %s", t.pkg, path.Base(e.file), e.line, e.function, e.text)
			key := exception{e.function, e.text}
			switch reason, ok := t.exceptions[key]; {
			case ok:
				excepted[key] = true
				fmt.Fprintf(out, "  cannot be taken: %s\n    %s\n", what, reason)
			default:
				fmt.Fprintf(out, "  NOT TAKEN: %s\n", what)
				if !t.further {
					wrong = append(wrong, what)
				}
			}
		}
		for key := range t.exceptions {
			if !excepted[key] {
				what := fmt.Sprintf("%s: %s: %s: it is listed as what cannot be taken, and it was, or is not there", t.pkg, key.function, key.text)
				wrong = append(wrong, what)
				fmt.Fprintf(out, "  WRONG: %s\n", what)
			}
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintf(out, "%d of %d error returns taken\n", taken, all)
	if len(wrong) > 0 {
		return fmt.Errorf("%d error returns are not taken and have to be, or are wrongly said not to be: the first is %s", len(wrong), wrong[0])
	}
	return nil
}

// print prints the table, and returns how many exits there are and which were not taken.
func (f found) print(out io.Writer) (n int, missing []*exit) {
	fmt.Fprintf(out, "%s: %s\n", f.pkg, f.title)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  function\tat\ttaken\tthe rarest of them")
	silent := 0
	for _, r := range f.rows {
		if len(r.exits) == 0 {
			silent++
			continue
		}
		rarest, not := r.exits[0], 0
		for _, e := range r.exits {
			if e.count < rarest.count {
				rarest = e
			}
			if e.count == 0 {
				not++
				missing = append(missing, e)
			}
		}
		n += len(r.exits)
		fmt.Fprintf(w, "  %s\t%s:%d\t%d/%d\t%d times, line %d\n", r.function, path.Base(r.file), r.line, len(r.exits)-not, len(r.exits), rarest.count, rarest.line)
	}
	fmt.Fprintf(w, "  all\t\t%d/%d\n", n-len(missing), n)
	w.Flush()
	var notes []string
	if silent > 0 {
		notes = append(notes, fmt.Sprintf("functions that return no error: %d", silent))
	}
	for _, kind := range slices.Sorted(maps.Keys(f.elsewhere)) {
		notes = append(notes, fmt.Sprintf("in the place of %s there is %s", kind, f.elsewhere[kind]))
	}
	if len(notes) > 0 {
		fmt.Fprintf(out, "  (%s)\n", strings.Join(notes, "; "))
	}
	return n, missing
}
