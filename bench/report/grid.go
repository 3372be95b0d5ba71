package report

import "slices"

// grid are plots of lines as one table, for where there is no other: a row for each x, a column for each line, and the titles first.
func grid(plots []Plot) (rows [][]string) {
	plots = slices.DeleteFunc(slices.Clone(plots), func(p Plot) bool { return p.Bars })
	if len(plots) == 0 {
		return nil
	}
	var at []float64
	titles := []string{plots[0].X.Label}
	for _, p := range plots {
		for _, l := range p.Lines {
			at = append(at, l.X...)
			titles = append(titles, p.Title+": "+l.Name)
		}
	}
	slices.Sort(at)
	rows = [][]string{titles}
	for _, x := range slices.Compact(at) {
		row := []string{Format(plots[0].X.Unit, x)}
		for _, p := range plots {
			for _, l := range p.Lines {
				cell := ""
				if i := slices.Index(l.X, x); i >= 0 && i < len(l.Y) {
					cell = Format(p.Y.Unit, l.Y[i])
				}
				row = append(row, cell)
			}
		}
		rows = append(rows, row)
	}
	return rows
}
