// Package table writes tables in Markdown whose columns are aligned, so that a terminal shows them
// as well as a page does.
package table

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// figure is how a cell begins in a column of figures.
var figure = regexp.MustCompile(`^[-+]?[0-9]`)

// Write writes a table and an empty line. A column that no row fills is left out. A column of
// figures, and of dashes where there is none, is aligned to the right, but for the first and the
// last one. The last column is not padded: it has the notes, and one long note would widen each
// line.
func Write(w io.Writer, titles []string, rows [][]string) error {
	var b strings.Builder
	lines := make([]strings.Builder, len(rows)+2)
	kept := slices.Collect(columns(titles, rows))
	for i, c := range kept {
		width, last := 3, i == len(kept)-1
		c.figures = c.figures && i > 0 && !last
		for _, cell := range c.cells {
			width = max(width, utf8.RuneCountInString(cell))
		}
		for n, cell := range slices.Insert(c.cells, 1, c.rule(last, width)) {
			pad := strings.Repeat(" ", max(width-utf8.RuneCountInString(cell), 0))
			switch {
			case c.figures:
				cell = pad + cell
			case !last:
				cell += pad
			}
			lines[n].WriteString("| " + cell + " ")
		}
	}
	for n := range lines {
		b.WriteString(lines[n].String() + "|\n")
	}
	if _, err := io.WriteString(w, b.String()+"\n"); err != nil {
		return fmt.Errorf("cannot write the table: %w", err)
	}
	return nil
}

// column is one that is written: its title and then its cells.
type column struct {
	cells   []string
	figures bool
}

// columns are those that a row fills.
func columns(titles []string, rows [][]string) func(func(column) bool) {
	return func(yield func(column) bool) {
		for i, title := range titles {
			c := column{cells: []string{Escape(title)}, figures: true}
			filled := len(rows) == 0
			for _, row := range rows {
				cell := Escape(row[i])
				c.cells = append(c.cells, cell)
				filled = filled || cell != ""
				c.figures = c.figures && (cell == "" || cell == "-" || figure.MatchString(cell))
			}
			if filled && !yield(c) {
				return
			}
		}
	}
}

// rule is the line between a title and its cells.
func (c column) rule(last bool, width int) string {
	switch {
	case last:
		return "---"
	case c.figures:
		return strings.Repeat("-", width-1) + ":"
	}
	return strings.Repeat("-", width)
}

// Escape has a text stay in its cell, or in its line.
func Escape(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(s)
}
